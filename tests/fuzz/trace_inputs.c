/* SPDX-License-Identifier: MIT */
/* trace_inputs: inputs for the targets that read traces: traces with a few bytes changed, with right checksums most of the time. */
#include "format/crc.h"
#include "format/writer.h"
#include "fuzz/replay.h"

#include <stdio.h>
#include <stdlib.h>

static void
write_something(struct hew_trace_writer *writer, uint64_t *random)
{
    uint64_t drawn = fuzz_random(random);

    switch (drawn % 10) {
    case 0:
        hew_trace_write_sync(writer, writer->ticket + drawn / 8 % 5, writer->time + drawn / 64 % 1000);
        break;
    case 1:
    case 2:
        hew_trace_write_free(writer, (uint32_t)(drawn / 8 % 3), drawn / 64 % (writer->number + 1));
        break;
    case 3:
        hew_trace_write_realloc(writer, writer->thread, drawn / 64 % (writer->number + 1), drawn >> 40);
        break;
    case 4:
        hew_trace_write_aligned(writer, (unsigned)(drawn / 8 % 14), drawn >> 50);
        break;
    case 5:
        hew_trace_write_touched(writer, (uint32_t)(drawn / 8 % 3), drawn / 64 % (writer->number + 2), drawn >> 50);
        break;
    case 6:
        hew_trace_write_node(writer, (uint32_t)(drawn / 8 % 40));
        break;
    default:
        hew_trace_write_malloc(writer, HEW_TRACE_MALLOC, drawn >> (drawn / 8 % 64));
    }
}

/* Right checksums again, so that what was changed is read. */
static void
mend(uint8_t *data, size_t size, size_t offset)
{
    struct hew_trace_block block;

    memcpy(&block, data + offset, sizeof(block));
    if (block.stored <= size - offset - sizeof(block)) {
        block.checksum = hew_trace_crc(data + offset + sizeof(block), block.stored);
    }
    block.header_checksum = hew_trace_crc(&block, sizeof(block) - sizeof(block.header_checksum));
    memcpy(data + offset, &block, sizeof(block));
}

/* A block of the tree of stacks: some nodes that follow on each other, some that do not. */
static void
write_nodes(uint8_t *bytes, uint32_t size, uint64_t *random)
{
    struct hew_trace_block block = {.magic = HEW_TRACE_BLOCK_MAGIC,
                                    .kind = HEW_TRACE_NODES,
                                    .state = HEW_TRACE_CLOSED,
                                    .room = size,
                                    .number = fuzz_random(random) % 30};

    block.length = block.stored = (uint32_t)(fuzz_random(random) % (size - sizeof(block)));
    memset(bytes, 0, size);
    memcpy(bytes, &block, sizeof(block));
    for (size_t at = sizeof(block); at + sizeof(struct hew_trace_node) <= size; at += sizeof(struct hew_trace_node)) {
        struct hew_trace_node node = {fuzz_random(random) % 8, (uint32_t)(fuzz_random(random) % 40), 0};
        memcpy(bytes + at, &node, sizeof(node));
    }
}

size_t
fuzz_make_input(uint64_t *random, uint8_t *data, size_t capacity)
{
    struct hew_trace_header header = {
        .magic = HEW_TRACE_MAGIC, .version = HEW_TRACE_VERSION, .first_block = sizeof(header)};
    struct hew_trace_writer writers[3] = {{.thread = 0}, {.thread = 1}, {.thread = 2}};
    size_t room = 512, blocks = 1 + fuzz_random(random) % 8, size = sizeof(header) + blocks * room;

    if (size > capacity) {
        fprintf(stderr, "no room for the input\n");
        abort();
    }
    memset(data, 0, size);
    memcpy(data, &header, sizeof(header));
    for (size_t i = 0; i < blocks; i++) {
        struct hew_trace_writer *writer = &writers[fuzz_random(random) % 3];
        uint64_t count = fuzz_random(random) % 200;
        _Alignas(8) uint8_t block[512] = {0};
        hew_trace_writer_begin(writer, block, sizeof(block));
        while (count-- > 0 && !hew_trace_writer_is_full(writer)) {
            write_something(writer, random);
        }
        if (fuzz_random(random) % 4 != 0) {
            hew_trace_writer_close(writer);
        }
        if (fuzz_random(random) % 6 == 0) {
            write_nodes(block, sizeof(block), random);
        }
        memcpy(data + sizeof(header) + i * room, block, room);
    }
    for (uint64_t changes = fuzz_random(random) % 6; changes > 0; changes--) {
        data[fuzz_random(random) % size] = (uint8_t)fuzz_random(random);
    }
    for (size_t i = 0; i < blocks; i++) {
        if (fuzz_random(random) % 8 != 0) {
            mend(data, size, sizeof(header) + i * room);
        }
    }
    return size - (fuzz_random(random) % 4 == 0 ? fuzz_random(random) % size : 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * trace_fuzz: the reader of trace files under arbitrary bytes.
 *
 * Holds that nothing outside of the file is read, that memory stays bounded by the file's size, and that the merged order makes each
 * object before it ends, whatever the file says.  Inputs are traces with a few bytes changed, with right checksums most of the time.
 */
#include "format/crc.h"
#include "format/reader.h"
#include "format/writer.h"
#include "fuzz/replay.h"

#include <stdio.h>
#include <stdlib.h>

static void
require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hew_trace trace;
    struct hew_trace_merge merge;
    struct hew_trace_operation operation;
    char why[HEW_TRACE_WHY];
    size_t live = 0, steps = 0;
    uint8_t *copy = malloc(size + 1); /* of its own size, for AddressSanitizer */

    memcpy(copy, data, size);
    if (!hew_trace_open(&trace, copy, size, why)) {
        require(strchr(why, '\n') == NULL && why[0] != '\0', "a refusal is not one line");
        free(copy);
        return 0;
    }
    require(trace.thread_count <= trace.part_count, "there are threads without blocks");
    require(hew_trace_merge_begin(&merge, &trace), "no memory");
    while (hew_trace_merge_next(&merge, &operation)) {
        live += operation.kind == HEW_TRACE_DID_ALLOCATE;
        require(operation.kind != HEW_TRACE_DID_FREE || live-- > 0, "more objects end than were made");
        require(operation.kind != HEW_TRACE_DID_ALLOCATE || operation.slot < size, "a slot is larger than the file");
        require(operation.kind != HEW_TRACE_DID_STACK || operation.frame_count <= HEW_TRACE_STACK_MAX,
                "too many frames");
        require(++steps <= size * 2 + 64, "more operations than the file has bytes");
    }
    require(!merge.failed, "no memory amid the order");
    hew_trace_merge_end(&merge);
    hew_trace_close(&trace);
    free(copy);
    return 0;
}

static void
write_something(struct hew_trace_writer *writer, uint64_t *random)
{
    uint64_t drawn = fuzz_random(random);

    switch (drawn % 8) {
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

size_t
fuzz_make_input(uint64_t *random, uint8_t *data, size_t capacity)
{
    struct hew_trace_header header = {.magic = HEW_TRACE_MAGIC, .version = 1, .first_block = sizeof(header)};
    struct hew_trace_writer writers[3] = {{.thread = 0}, {.thread = 1}, {.thread = 2}};
    size_t room = 512, blocks = 1 + fuzz_random(random) % 8, size = sizeof(header) + blocks * room;

    require(size <= capacity, "no room for the input");
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

/* SPDX-License-Identifier: MIT */
/* finish: see finish.h. */
#include "format/finish.h"

#include "format/crc.h"
#include "format/writer.h"

/* Reads the block alone, as a trace of one block, up to the end of its operations. */
static void
close_block(struct hew_trace_block *block, const uint8_t *payload, size_t size)
{
    struct hew_trace_part part = {.payload = payload, .size = (uint32_t)size, .number = block->number};
    struct hew_trace trace = {.parts = &part, .part_count = 1, .thread_count = 1};
    struct hew_trace_cursor cursor;
    struct hew_trace_operation operation;
    const uint8_t *good = payload;
    uint32_t operations = 0;

    hew_trace_cursor_begin(&cursor, &trace, 0);
    while (hew_trace_cursor_next(&cursor, &operation)) {
        operations += operation.kind == HEW_TRACE_DID_ALLOCATE || operation.kind == HEW_TRACE_DID_FREE ||
                      operation.kind == HEW_TRACE_DID_REALLOCATE;
        good = cursor.at;
    }
    block->length = block->stored = (uint32_t)(good - payload);
    block->operations = operations;
    block->checksum = hew_trace_crc(payload, block->stored);
    hew_trace_seal(block);
}

/* Closes at the first zero byte. */
static void
close_names(struct hew_trace_block *block, const uint8_t *payload, size_t size)
{
    block->length = block->stored = (uint32_t)strnlen((const char *)payload, size);
    block->checksum = hew_trace_crc(payload, block->stored);
    hew_trace_seal(block);
}

/* Closes after the last node written.  A node that its thread reserved but did not write remains among them as
 * zeros. */
static void
close_nodes(struct hew_trace_block *block, const uint8_t *payload, size_t size)
{
    size_t count = size / sizeof(struct hew_trace_node);
    struct hew_trace_node last;

    for (; count > 0; count--) {
        memcpy(&last, payload + (count - 1) * sizeof(last), sizeof(last));
        if (last.address != 0) {
            break;
        }
    }
    block->length = block->stored = (uint32_t)(count * sizeof(last));
    block->checksum = hew_trace_crc(payload, block->stored);
    hew_trace_seal(block);
}

size_t
hew_trace_finish(uint8_t *bytes, size_t size)
{
    struct hew_trace_header header;
    size_t closed = 0;

    memcpy(&header, bytes, sizeof(header));
    for (size_t offset = header.first_block; hew_trace_find_block(bytes, size, &offset);) {
        struct hew_trace_block block;
        size_t left = size - offset - sizeof(block);
        memcpy(&block, bytes + offset, sizeof(block));
        if (block.state == HEW_TRACE_OPEN && block.kind != HEW_TRACE_INFO && block.kind != HEW_TRACE_MODULES &&
            block.kind <= HEW_TRACE_NAMES) {
            size_t room = block.room - sizeof(block);
            (block.kind == HEW_TRACE_NODES ? close_nodes
             : block.kind == HEW_TRACE_NAMES
                 ? close_names
                 : close_block)(&block, bytes + offset + sizeof(block), room < left ? room : left);
            block.state = HEW_TRACE_OPEN; /* the block stays open until everything else is written */
            memcpy(bytes + offset, &block, sizeof(block));
            __atomic_store_n(bytes + offset + offsetof(struct hew_trace_block, state), HEW_TRACE_CLOSED,
                             __ATOMIC_RELEASE);
            closed++;
        }
        offset = block.room >= size - offset ? size : offset + block.room;
    }
    return closed;
}

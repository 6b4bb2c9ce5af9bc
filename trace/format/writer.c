/* SPDX-License-Identifier: MIT */
/* writer: see writer.h. */
#include "format/writer.h"

#include "format/crc.h"

void
hew_trace_writer_begin(struct hew_trace_writer *writer, void *room, uint32_t size)
{
    writer->block = room;
    *writer->block = (struct hew_trace_block){
        .magic = HEW_TRACE_BLOCK_MAGIC,
        .kind = HEW_TRACE_OPERATIONS,
        .state = HEW_TRACE_OPEN,
        .room = size,
        .thread = writer->thread,
        .sequence = writer->sequence++,
        .number = writer->number,
        .ticket = writer->ticket,
        .time = writer->time,
    };
    writer->at = (uint8_t *)(writer->block + 1);
    writer->end = (uint8_t *)room + size - HEW_TRACE_OPERATION_MAX - 1;
    writer->operations = 0;
}

void
hew_trace_seal(struct hew_trace_block *block)
{
    struct hew_trace_block closed = *block;

    closed.state = HEW_TRACE_CLOSED;
    block->header_checksum = hew_trace_crc(&closed, sizeof(closed) - sizeof(closed.header_checksum));
    __atomic_store_n(&block->state, HEW_TRACE_CLOSED, __ATOMIC_RELEASE);
}

void
hew_trace_writer_close(struct hew_trace_writer *writer)
{
    struct hew_trace_block *block = writer->block;
    uint8_t *payload = (uint8_t *)(block + 1);

    block->length = block->stored = (uint32_t)(writer->at - payload);
    block->operations = writer->operations;
    block->checksum = hew_trace_crc(payload, block->stored);
    hew_trace_seal(block);
    writer->block = NULL;
    writer->at = writer->end = NULL;
}

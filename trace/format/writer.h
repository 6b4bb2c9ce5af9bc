/* SPDX-License-Identifier: MIT */
/*
 * writer: encodes one thread's operations into blocks in memory, as docs/trace.md describes them.
 *
 * The recorder uses it to write directly into a mapped file; tests use it to make traces.
 * Promises  no malloc, no system call.  Not thread-safe: a block belongs to its thread.
 */
#ifndef HEW_TRACE_FORMAT_WRITER_H
#define HEW_TRACE_FORMAT_WRITER_H

#include "format/format.h"

struct hew_trace_writer {
    uint8_t *at;
    uint8_t *end; /* an operation may begin before it: HEW_TRACE_OPERATION_MAX bytes and a zero byte follow */
    struct hew_trace_block *block;
    uint64_t number; /* of the thread's next allocation */
    uint64_t ticket;
    uint64_t time;
    uint32_t thread;
    uint32_t sequence;
    uint32_t operations; /* of this block */
};

/* Starts a block in room[0 .. size), which is zeroed and 8-byte aligned; size >= 256. */
void hew_trace_writer_begin(struct hew_trace_writer *writer, void *room, uint32_t size);

/*
 * Closes a block whose lengths and payload checksum are set.  The state changes last.  If the writer is killed before
 * that, the block stays open and is readable up to its last operation.  A concurrent reader sees one state or the
 * other.
 */
void hew_trace_seal(struct hew_trace_block *block);

/* Closes the block and sets its lengths and checksums. */
void hew_trace_writer_close(struct hew_trace_writer *writer);

static inline bool
hew_trace_writer_is_full(const struct hew_trace_writer *writer)
{
    return writer->at >= writer->end;
}

static inline void
hew_trace_write_sync(struct hew_trace_writer *writer, uint64_t ticket, uint64_t time)
{
    *writer->at++ = HEW_TRACE_SYNC << 3;
    writer->at = hew_trace_put_number(writer->at, 8, 0, ticket - writer->ticket);
    writer->at = hew_trace_put_number(writer->at, 8, 0, time - writer->time);
    writer->ticket = ticket;
    writer->time = time;
}

static inline void
hew_trace_write_exit(struct hew_trace_writer *writer)
{
    *writer->at++ = HEW_TRACE_EXIT << 3;
}

/* What the thread is called from now on; at most HEW_TRACE_NAME_MAX bytes. */
static inline void
hew_trace_write_name(struct hew_trace_writer *writer, uint32_t tid, const char *name, size_t length)
{
    *writer->at++ = HEW_TRACE_NAME << 3;
    writer->at = hew_trace_put_number(writer->at, 8, 0, tid);
    writer->at = hew_trace_put_number(writer->at, 8, 0, length);
    memcpy(writer->at, name, length);
    writer->at += length;
}

/* The thread has done so many operations that are not in the trace. */
static inline void
hew_trace_write_passed(struct hew_trace_writer *writer, uint64_t count)
{
    *writer->at++ = HEW_TRACE_PASSED << 3;
    writer->at = hew_trace_put_number(writer->at, 8, 0, count);
}

/* Sets the stack of the allocations that follow in this block; 0: unknown. */
static inline void
hew_trace_write_node(struct hew_trace_writer *writer, uint32_t node)
{
    *writer->at++ = HEW_TRACE_NODE << 3;
    writer->at = hew_trace_put_number(writer->at, 8, 0, node);
}

/* For an object of any thread, before the object ends. */
static inline void
hew_trace_write_touched(struct hew_trace_writer *writer, uint32_t thread, uint64_t number, uint64_t pages)
{
    *writer->at++ = HEW_TRACE_TOUCHED << 3;
    writer->at = hew_trace_put_number(writer->at, 8, 0, thread);
    writer->at = hew_trace_put_number(writer->at, 8, 0, number);
    writer->at = hew_trace_put_number(writer->at, 8, 0, pages);
}

/* code: MALLOC or CALLOC.  Returns the object's number. */
static inline uint64_t
hew_trace_write_malloc(struct hew_trace_writer *writer, enum hew_trace_code code, uint64_t size)
{
    writer->at = hew_trace_put_number(writer->at, 5, code, size);
    writer->operations++;
    return writer->number++;
}

static inline uint64_t
hew_trace_write_aligned(struct hew_trace_writer *writer, unsigned lg_align, uint64_t size)
{
    writer->at = hew_trace_put_number(writer->at, 5, HEW_TRACE_ALIGNED, lg_align);
    writer->at = hew_trace_put_number(writer->at, 8, 0, size);
    writer->operations++;
    return writer->number++;
}

/* own: FREE or REALLOC; that code + 1 is the one for other threads' objects. */
static inline void
hew_trace_write_ended(struct hew_trace_writer *writer, enum hew_trace_code own, uint32_t thread, uint64_t number)
{
    writer->operations++;
    if (thread == writer->thread) {
        writer->at = hew_trace_put_number(writer->at, 5, own, writer->number - number);
    } else {
        writer->at = hew_trace_put_number(writer->at, 5, own + 1u, thread);
        writer->at = hew_trace_put_number(writer->at, 8, 0, number);
    }
}

static inline void
hew_trace_write_free(struct hew_trace_writer *writer, uint32_t thread, uint64_t number)
{
    hew_trace_write_ended(writer, HEW_TRACE_FREE, thread, number);
}

static inline uint64_t
hew_trace_write_realloc(struct hew_trace_writer *writer, uint32_t thread, uint64_t number, uint64_t size)
{
    hew_trace_write_ended(writer, HEW_TRACE_REALLOC, thread, number);
    writer->at = hew_trace_put_number(writer->at, 8, 0, size);
    return writer->number++;
}

#endif

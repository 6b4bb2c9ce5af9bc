/* SPDX-License-Identifier: MIT */
/*
 * ids: an object's id is its thread and number in one word; a handle names it in half a word.
 *
 * A thread's consecutive allocations share a chunk, which knows the id of the first.  A handle is a place in a chunk.
 * Owns      a table of 2^21 chunks in memory that a forked child sees as zeros.  A chunk whose objects have all ended is
 *           used again.
 * Promises  a lock for a new chunk, once in 1,024 allocations; one atomic subtraction for each object that ends.
 * Why       docs/decisions/0094-handles-of-live-objects.md.
 */
#ifndef HEW_TRACE_RECORD_IDS_H
#define HEW_TRACE_RECORD_IDS_H

#include "base/compiler.h"

#define HEW_TRACE_LG_NUMBER 44
#define HEW_TRACE_LARGE (UINT64_C(1) << (HEW_TRACE_LG_NUMBER - 1)) /* flag in an id: large.h tracks the object */
#define HEW_TRACE_LG_CHUNK 10
#define HEW_TRACE_CHUNK (1u << HEW_TRACE_LG_CHUNK)
#define HEW_TRACE_CHUNKS (1u << 21)
#define HEW_TRACE_REACHED (UINT32_C(1) << 31) /* flag in a handle, set by lost.c alone */

struct hew_trace_chunk {
    uint64_t base; /* the id at place 0; 0: the chunk is free */
    uint32_t live; /* objects that have not ended, with those not made yet */
    uint32_t next; /* of a free chunk: the next one */
};

extern struct hew_trace_chunk *hew_trace_chunks;

/* Called before the first object.  False: no memory. */
HEW_COLD bool hew_trace_ids_begin(void);

/* Takes a chunk for `count` objects of which `base` is the first id, and returns the first one's handle; 0: there is none
 * left. */
HEW_COLD uint32_t hew_trace_ids_take(uint64_t base, uint32_t count);

/* The last object of a chunk has ended. */
HEW_COLD void hew_trace_ids_give(uint32_t handle);

HEW_INLINE struct hew_trace_chunk *
hew_trace_ids_chunk(uint32_t handle)
{
    return &hew_trace_chunks[(handle & ~HEW_TRACE_REACHED) >> HEW_TRACE_LG_CHUNK];
}

/* The id of a handle that is not 0. */
HEW_INLINE uint64_t
hew_trace_ids_find(uint32_t handle)
{
    return hew_trace_ids_chunk(handle)->base + (handle & (HEW_TRACE_CHUNK - 1));
}

/* `count` objects of the handle's chunk have ended, or will not be made. */
HEW_INLINE void
hew_trace_ids_end(uint32_t handle, uint32_t count)
{
    if (HEW_UNLIKELY(__atomic_fetch_sub(&hew_trace_ids_chunk(handle)->live, count, __ATOMIC_ACQ_REL) == count)) {
        hew_trace_ids_give(handle);
    }
}

#endif

/* SPDX-License-Identifier: MIT */
/* ids: see ids.h. */
#include "record/ids.h"

#include "os/syscall.h"
#include "record/file.h"
#include "record/wiped.h"

struct hew_trace_chunk *hew_trace_chunks; /* set once, before the first object */

bool
hew_trace_ids_begin(void)
{
    if (hew_trace_chunks == NULL) { /* a forked child's read as zeros; another recording uses them on */
        hew_trace_chunks = hew_trace_map_wiped(HEW_TRACE_CHUNKS * sizeof(*hew_trace_chunks));
    }
    return hew_trace_chunks != NULL;
}

static void
lock(void)
{
    while (__atomic_exchange_n(&hew_trace_shared.chunks_busy, 1, __ATOMIC_ACQUIRE) != 0) {
        hew_syscall1(SYS_sched_yield, 0);
    }
}

static void
unlock(void)
{
    __atomic_store_n(&hew_trace_shared.chunks_busy, 0, __ATOMIC_RELEASE);
}

uint32_t
hew_trace_ids_take(uint64_t base, uint32_t count)
{
    struct hew_trace_state *state = &hew_trace_shared;
    uint32_t chunk;

    lock();
    chunk = state->chunk_free;
    if (chunk != 0) {
        state->chunk_free = hew_trace_chunks[chunk].next;
    } else if (state->chunk_count + 1 < HEW_TRACE_CHUNKS) {
        chunk = ++state->chunk_count; /* chunk 0 stays unused, so that no handle is 0 */
    }
    unlock();
    if (chunk != 0) {
        hew_trace_chunks[chunk] = (struct hew_trace_chunk){.base = base, .live = count};
    }
    return chunk << HEW_TRACE_LG_CHUNK;
}

void
hew_trace_ids_give(uint32_t handle)
{
    struct hew_trace_chunk *chunk = hew_trace_ids_chunk(handle);

    lock();
    *chunk = (struct hew_trace_chunk){.next = hew_trace_shared.chunk_free};
    hew_trace_shared.chunk_free = (uint32_t)(chunk - hew_trace_chunks);
    unlock();
}

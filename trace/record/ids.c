/* SPDX-License-Identifier: MIT */
/* ids: see ids.h. */
#include "record/ids.h"

#include "os/syscall.h"
#include "record/file.h"

#include <sys/mman.h>

struct hew_trace_chunk *hew_trace_chunks; /* set once, before the first object */

bool
hew_trace_ids_begin(void)
{
    size_t bytes = HEW_TRACE_CHUNKS * sizeof(*hew_trace_chunks);
    long mapped;

    if (hew_trace_chunks != NULL) {
        return true; /* a forked child, where they read as zeros; or another recording, which uses them on */
    }
    mapped = hew_syscall6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                          -1, 0);
    if (mapped < 0) {
        return false;
    }
    hew_syscall3(SYS_madvise, mapped, bytes, MADV_NOHUGEPAGE);
    if (hew_syscall3(SYS_madvise, mapped, bytes, MADV_WIPEONFORK) != 0) {
        hew_syscall2(SYS_munmap, mapped, bytes);
        return false;
    }
    hew_trace_chunks = (struct hew_trace_chunk *)mapped;
    return true;
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

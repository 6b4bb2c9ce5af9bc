/* SPDX-License-Identifier: MIT */
#include "slab/arena.h"

#include "base/options.h"
#include "meta/memory.h"
#include "os/clock.h"
#include "os/cpus.h"

struct hew_mutex hew_arenas_lock;
_Atomic(struct hew_arena *) hew_arenas[HEW_ARENAS_MAX];

static unsigned limit; /* guarded by hew_arenas_lock; 0 = not known yet */

static struct hew_arena *
make(unsigned index)
{
    struct hew_arena *arena = hew_meta_take(sizeof *arena);
    if (arena != NULL) {
        arena->index = (uint16_t)index;
        hew_page_heap_begin(&arena->pages, (uint16_t)index, hew_clock_ms());
        atomic_store_explicit(&hew_arenas[index], arena, memory_order_release);
    }
    return arena;
}

struct hew_arena *
hew_arena_get(unsigned index)
{
    struct hew_arena *arena = hew_arena_at(index);
    if (arena == NULL) {
        hew_mutex_lock(&hew_arenas_lock);
        arena = hew_arena_at(index);
        arena = arena == NULL ? make(index) : arena;
        hew_mutex_unlock(&hew_arenas_lock);
    }
    return arena;
}

/* Under the lock.  Reading the CPUs' limits costs some system calls: not before a second arena may be wanted. */
static unsigned
known_limit(void)
{
    if (limit == 0) {
        uint64_t wanted = hew_options.narenas;
        if (wanted == 0) {
            wanted = (uint64_t)hew_cpus_usable() * (uint64_t)hew_options.narenas_ratio.thousandths / 1000;
        }
        limit = wanted == 0 ? 1 : wanted > HEW_OPTION_ARENAS_MAX ? HEW_OPTION_ARENAS_MAX : (unsigned)wanted;
    }
    return limit;
}

unsigned
hew_arena_limit(void)
{
    hew_mutex_lock(&hew_arenas_lock);
    unsigned known = known_limit();
    hew_mutex_unlock(&hew_arenas_lock);
    return known;
}

struct hew_arena *
hew_arena_least_loaded(void)
{
    struct hew_arena *best = hew_arena_at(0);
    if (best != NULL && atomic_load_explicit(&best->threads, memory_order_relaxed) == 0) {
        return best;
    }
    hew_mutex_lock(&hew_arenas_lock);
    unsigned most = known_limit();
    best = NULL;
    for (unsigned index = 0; index < most; index++) {
        struct hew_arena *arena = hew_arena_at(index);
        if (arena == NULL) {
            bool idle = best != NULL && atomic_load_explicit(&best->threads, memory_order_relaxed) == 0;
            arena = idle ? NULL : make(index);
            best = arena == NULL ? best : arena;
            break;
        }
        if (best == NULL || atomic_load_explicit(&arena->threads, memory_order_relaxed) <
                atomic_load_explicit(&best->threads, memory_order_relaxed)) {
            best = arena;
        }
    }
    hew_mutex_unlock(&hew_arenas_lock);
    return best;
}

struct hew_extent *
hew_arena_take_large(struct hew_arena *arena, size_t size, size_t alignment, unsigned code)
{
    size_t usable = hew_bits_round_up(size, HEW_PAGE);
    size_t bytes = code == HEW_CODE_SLOW ? usable : hew_code_size(code);
    struct hew_extent *extent = hew_page_take(&arena->pages, bytes, alignment, code);
    if (extent != NULL) {
        extent->large.usable = usable;
        extent->large.sample = NULL;
        atomic_fetch_add_explicit(&arena->large[hew_large_index(bytes)].nmalloc, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&arena->large_bytes, usable, memory_order_relaxed);
    }
    return extent;
}

/* The object is no longer out. */
static void
count_returned(struct hew_arena *arena, const struct hew_extent *extent)
{
    atomic_fetch_add_explicit(&arena->large[hew_large_index(extent->size)].ndalloc, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&arena->large_bytes, extent->large.usable, memory_order_relaxed);
}

void
hew_arena_give_large(struct hew_extent *extent)
{
    struct hew_arena *arena = hew_arena_at(extent->arena);
    count_returned(arena, extent);
    hew_page_give(&arena->pages, extent);
}

void
hew_arena_abandon_large(struct hew_extent *extent)
{
    struct hew_arena *arena = hew_arena_at(extent->arena);
    count_returned(arena, extent);
    hew_page_abandon(&arena->pages, extent);
}

void
hew_arena_reuse_large(struct hew_extent *extent, size_t usable)
{
    size_t before = extent->large.usable;
    if (before != usable) {
        extent->large.usable = usable;
        atomic_fetch_add_explicit(&hew_arena_at(extent->arena)->large_bytes, usable - before, memory_order_relaxed);
    }
}

void
hew_arena_recode_large(struct hew_extent *extent, size_t before, unsigned code, size_t size)
{
    struct hew_arena *arena = hew_arena_at(extent->arena);
    if (before != extent->size) {
        atomic_fetch_add_explicit(&arena->large[hew_large_index(before)].ndalloc, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&arena->large[hew_large_index(extent->size)].nmalloc, 1, memory_order_relaxed);
    }
    hew_page_recode(&arena->pages, extent, code);
    hew_arena_reuse_large(extent, hew_bits_round_up(size, HEW_PAGE));
}

struct hew_large_total
hew_arena_large_total(const struct hew_arena *arena)
{
    struct hew_large_total total = {0, 0};
    for (unsigned index = 0; index < HEW_LARGE_CLASSES; index++) {
        total.ndalloc += atomic_load_explicit(&arena->large[index].ndalloc, memory_order_relaxed);
        total.nmalloc += atomic_load_explicit(&arena->large[index].nmalloc, memory_order_relaxed);
    }
    return total;
}

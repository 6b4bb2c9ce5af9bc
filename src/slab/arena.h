/* SPDX-License-Identifier: MIT */
/*
 * arena: a page heap and a bin for each small class; what a group of threads allocates from.
 *
 * Owns      the table of arenas.  Arenas are made when first needed and live as long as the process.
 * Locks     `hew_arenas_lock` (rank: arenas) guards making one; the table's entries are atomic: release when made,
 *           acquire when read.
 * Not here  who uses which arena: cache/thread.c.
 */
#ifndef HEW_SLAB_ARENA_H
#define HEW_SLAB_ARENA_H

#include "meta/map.h"
#include "slab/bin.h"

#define HEW_ARENAS_MAX 4096
/* Nothing larger, and no alignment above, can lie in the address space; the pools of page/ are made for no more. */
#define HEW_LARGE_MAX ((size_t)1 << (HEW_LG_ADDRESS - 1))

struct hew_arena {
    struct hew_page_heap pages;
    struct hew_bin bins[HEW_CODE_SMALL_LAST + 1]; /* by code; 0 is unused */
    uint16_t index;
    _Atomic uint32_t threads; /* threads that allocate here: relaxed, a hint for the choice */
    _Atomic uint64_t large_nmalloc, large_ndalloc; /* relaxed */
};

extern struct hew_mutex hew_arenas_lock;
extern _Atomic(struct hew_arena *) hew_arenas[HEW_ARENAS_MAX];

/* How many automatic arenas there may be: the options narenas, or narenas_ratio a usable CPU; fixed when first asked. */
unsigned hew_arena_limit(void);

/* The arena with that number, made if it is new; NULL without memory. */
struct hew_arena *hew_arena_get(unsigned index);

/* The automatic arena with the fewest threads; a new one rather than sharing, while there may be more. */
struct hew_arena *hew_arena_least_loaded(void);

HEW_INLINE struct hew_arena *
hew_arena_at(unsigned index)
{
    return atomic_load_explicit(&hew_arenas[index], memory_order_acquire);
}

/*
 * A large object: an extent of its own with at least `size` usable bytes at a multiple of `alignment` (whole pages), both
 * up to HEW_LARGE_MAX.  NULL without memory.
 */
struct hew_extent *hew_arena_take_large(struct hew_arena *arena, size_t size, size_t alignment, unsigned code);
void hew_arena_give_large(struct hew_extent *extent);

/* Forgets a large object without touching its pages: see hew_page_abandon(). */
void hew_arena_abandon_large(struct hew_extent *extent);

#endif

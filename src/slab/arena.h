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

/* Classes above the small ones that an object can have here. */
#define HEW_LARGE_CLASSES ((HEW_LG_ADDRESS - 1 - 14) * 4 + 1)

struct hew_large_counts { /* relaxed */
    _Atomic uint64_t nmalloc, ndalloc; /* extents that left the arena and came back, thread caches included */
    _Atomic uint64_t nrequests;        /* requests that no thread cache has counted */
};

struct hew_arena {
    struct hew_page_heap pages;
    struct hew_bin bins[HEW_CODE_SMALL_LAST + 1]; /* by code; 0 is unused */
    uint16_t index;
    _Atomic uint32_t threads; /* threads that allocate here: relaxed, a hint for the choice */
    struct hew_large_counts large[HEW_LARGE_CLASSES];
    _Atomic size_t large_bytes; /* usable bytes of the large objects that are out: relaxed */
    /* Requests by code that threads made which are gone or have moved, and which no cache has counted: relaxed. */
    _Atomic uint64_t requests[HEW_CODES];
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

/* An object from a thread's cache serves another request of its class, which may use `usable` bytes. */
void hew_arena_reuse_large(struct hew_extent *extent, size_t usable);

/* An object that had `before` bytes of pages has become one of `code` with `size` usable bytes where it is. */
void hew_arena_recode_large(struct hew_extent *extent, size_t before, unsigned code, size_t size);

/* Large objects that ever left the arena and came back, of all classes. */
struct hew_large_total {
    uint64_t nmalloc, ndalloc;
};
struct hew_large_total hew_arena_large_total(const struct hew_arena *arena);

/* The place of a large extent of `bytes` in hew_arena.large. */
HEW_INLINE unsigned
hew_large_index(size_t bytes)
{
    return hew_class_index(bytes) - HEW_CODE_SMALL_LAST;
}

/* Forgets a large object without touching its pages: see hew_page_abandon(). */
void hew_arena_abandon_large(struct hew_extent *extent);

#endif

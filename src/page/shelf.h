/* SPDX-License-Identifier: MIT */
/*
 * shelf: the large-extent cache: recently freed large extents of a heap, for the next request of the same size.
 *
 * Owns      per group of threads, a stack of extents for each of some sizes.  Cached extents still count as the heap's
 *           active extents and as out; only the address map reports that nothing is there.
 * Promises  put and take use only the group's try-lock.  They never wait, and never take the heap's lock.  Cached
 *           memory stays available to every thread: before it touches more memory, before decay and before statistics,
 *           the heap sweeps the whole cache into dirty pages (hew_page_sweep_held()).
 * Locks     hew_shelf_empty(), hew_shelf_close() and hew_shelf_decide() are called under the heap's lock.
 * Not here  when to sweep: heap.c, purge.c.  Sizes of up to 256 KiB, or tcache_max, go to magazines and per-CPU caches
 *           (cache/) first, and come here when these are full.
 */
#ifndef HEW_PAGE_SHELF_H
#define HEW_PAGE_SHELF_H

#include "meta/map.h"
#include "page/extent.h"

/* This many automatic arenas share a page heap: arenas whose numbers give the same quotient by it (decision 0090). */
#define HEW_PAGE_CLIENTS 4u
#define HEW_SHELF_ABOVE ((size_t)256 << 10) /* smaller ones of no size class: sampled or guarded */
#define HEW_SHELF_RANKS 8
#define HEW_SHELF_SLOTS 32 /* the sizes of eight doublings at once */
#define HEW_SHELF_GIVES_TO_CLOCK 64

/* Extents of nearly one size, none with a size-class index in the address map, linked by large.below.  The rank's
 * try-lock guards them; other threads read `newest` only to see whether there is one: relaxed. */
struct hew_shelf_slot {
    _Atomic(struct hew_extent *) newest;
    uint32_t reused; /* extents reused, not yet added to the tally */
    uint16_t index;  /* hew_large_index() of those sizes */
    uint16_t arena;  /* the arena that owns them */
};

/* One group of threads, chosen by thread token. */
struct hew_shelf_rank {
    _Atomic uint32_t held; /* the try-lock: 1 while a thread works on the rank */
    uint32_t used;         /* a bit for each slot that may hold extents or uncounted reuses */
    uint32_t gives;
    size_t bytes;
    struct hew_shelf_slot slot[HEW_SHELF_SLOTS];
} HEW_ALIGNED(HEW_CACHE_LINE);

struct hew_large_counts {              /* relaxed */
    _Atomic uint64_t nmalloc, ndalloc; /* extents that left and came back, thread caches included */
    _Atomic uint64_t reused;           /* reuses of no size class: each is one malloc, one free and one request */
    _Atomic uint64_t nrequests;        /* requests that no thread cache has counted */
};

/* Counters of an arena's large objects, by hew_large_index(). */
struct hew_large_tally {
    struct hew_large_counts *classes;
    _Atomic size_t *bytes; /* usable bytes that are out: relaxed */
};

struct hew_shelf {
    struct hew_large_tally tally[HEW_PAGE_CLIENTS]; /* by arena that shares the heap; set before its first extent */
    _Atomic bool open;                              /* written under the heap's lock */
    _Atomic bool filled;                            /* false: no rank has a bit in `used` */
    struct hew_shelf_rank rank[HEW_SHELF_RANKS];
};

/* The tally of `arena`, one of those that share the heap. */
HEW_INLINE struct hew_large_tally *
hew_shelf_tally(struct hew_shelf *shelf, unsigned arena)
{
    return &shelf->tally[arena % HEW_PAGE_CLIENTS];
}

/* The index of a large extent of `bytes` in an arena's counters. */
HEW_INLINE unsigned
hew_large_index(size_t bytes)
{
    HEW_ASSERT(1, bytes > HEW_SMALL_MAX); /* alloc/ refuses impossible sizes */
    return hew_class_index_large(bytes) - HEW_CODE_SMALL_LAST;
}

/* Takes the newest cached extent of exactly that size, active, with its fields as they were when it came; NULL if there
 * is none.  An extent of another arena is not counted as reused: it changes its arena. */
struct hew_extent *hew_shelf_take_one(struct hew_shelf *shelf, size_t size, unsigned arena);

enum hew_shelf_put {
    HEW_SHELF_REFUSED, /* the caller frees it in the usual way, which ends the process if it is free already */
    HEW_SHELF_PUT,
    HEW_SHELF_PUT_LOOK, /* put, and the caller should read the clock */
};

/* Puts an extent with HEW_CODE_SLOW. */
enum hew_shelf_put hew_shelf_put_one(struct hew_shelf *shelf, struct hew_extent *extent);

/* Puts claimed extents of one size and one class: all of them, or none.  The tally does not count this: until a sweep
 * they are out. */
enum hew_shelf_put hew_shelf_put_some(struct hew_shelf *shelf, struct hew_extent *const *extents, unsigned count);

/* Takes up to `wanted` extents of exactly that size, the newest first, with their class in the address map again.
 * Returns how many. */
unsigned hew_shelf_take_some(struct hew_shelf *shelf, size_t size, struct hew_extent **extents, unsigned wanted);

struct hew_page_heap;

/* Returns all cached extents to the heap.  False: there were none.  With hooks the lock may be dropped. */
bool hew_shelf_empty(struct hew_page_heap *heap);

/* Closes the cache: it holds nothing from now on. */
void hew_shelf_close(struct hew_page_heap *heap);
/* Lock held.  Turns all cached extents into dirty pages.  False: there were none. */
bool hew_page_sweep_held(struct hew_page_heap *heap);

/* Decides again whether the cache is open, after a change of the conditions. */
void hew_shelf_decide(struct hew_page_heap *heap);

/* In a fork's child: the extents that another thread was putting or taking are lost. */
void hew_shelf_after_fork(struct hew_shelf *shelf);

HEW_INLINE bool
hew_shelf_is_filled(const struct hew_shelf *shelf)
{
    return atomic_load_explicit(&shelf->filled, memory_order_relaxed);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * shelf: the large extents of a heap that were freed a moment ago, for whoever asks for the same size next.
 *
 * Owns      for each of some groups of threads a stack of extents for each of some sizes.  What lies there has not left the
 *           heap's active extents and is counted as out; only the address map says that nothing is there.
 * Promises  put and take need no more than the group's own mark, never wait and never take the heap's lock.  Nothing is
 *           kept from anybody: before more memory is touched, before decay and before statistics, a sweep
 *           (hew_page_sweep_held()) makes dirty pages of all of it.
 * Locks     hew_shelf_empty(), hew_shelf_close() and hew_shelf_decide() are called under the heap's lock.
 * Not here  when to sweep: heap.c, purge.c.  Sizes of up to 256 KiB, or tcache_max, lie in magazines and depots (cache/) first, and
 *           come here when these have no room.
 */
#ifndef HEW_PAGE_SHELF_H
#define HEW_PAGE_SHELF_H

#include "meta/map.h"
#include "page/extent.h"

/* So many automatic arenas share a page heap, those whose numbers have the same quotient by this (decision 0090). */
#define HEW_PAGE_CLIENTS 4u
#define HEW_SHELF_ABOVE ((size_t)256 << 10) /* smaller ones without a class are odd: samples, guarded ones */
#define HEW_SHELF_RANKS 8
#define HEW_SHELF_SLOTS 32 /* eight doublings of sizes side by side */
#define HEW_SHELF_GIVES_TO_CLOCK 64

/* Extents of much the same size, none with a class code, linked by large.below.  Guarded by the rank's mark, except that
 * `newest` is looked at by others to see whether there is one: relaxed. */
struct hew_shelf_slot {
    _Atomic(struct hew_extent *) newest;
    uint32_t reused; /* extents that left again, and that the tally has not been told of */
    uint16_t index;  /* hew_large_index() of those sizes */
    uint16_t arena;  /* whose they are */
};

/* For the threads whose tokens lead here. */
struct hew_shelf_rank {
    _Atomic uint32_t held; /* the mark: 1 while somebody works on the rank */
    uint32_t used;         /* slots that may have something for the heap or the tally, a bit each */
    uint32_t gives;
    size_t bytes;
    struct hew_shelf_slot slot[HEW_SHELF_SLOTS];
} HEW_ALIGNED(HEW_CACHE_LINE);

struct hew_large_counts {              /* relaxed */
    _Atomic uint64_t nmalloc, ndalloc; /* extents that left the arena and came back, thread caches included */
    _Atomic uint64_t reused;           /* and by way of the shelf, without a class code: one of each, and a request */
    _Atomic uint64_t nrequests;        /* requests that no thread cache has counted */
};

/* What is counted of an arena's large objects: by hew_large_index(). */
struct hew_large_tally {
    struct hew_large_counts *classes;
    _Atomic size_t *bytes; /* usable ones that are out: relaxed */
};

struct hew_shelf {
    struct hew_large_tally
        tally[HEW_PAGE_CLIENTS]; /* of the arenas that share the heap; set before their first extent */
    _Atomic bool open;           /* written under the heap's lock */
    _Atomic bool filled;         /* false: no rank has a bit in `used` */
    struct hew_shelf_rank rank[HEW_SHELF_RANKS];
};

/* Of that arena, one of those that share the heap. */
HEW_INLINE struct hew_large_tally *
hew_shelf_tally(struct hew_shelf *shelf, unsigned arena)
{
    return &shelf->tally[arena % HEW_PAGE_CLIENTS];
}

/* The place of a large extent of `bytes` among an arena's counts. */
HEW_INLINE unsigned
hew_large_index(size_t bytes)
{
    HEW_ASSERT(1, bytes > HEW_SMALL_MAX); /* impossible sizes are refused where they come in: alloc/ */
    return hew_class_index_large(bytes) - HEW_CODE_SMALL_LAST;
}

/* An active extent of just that size, the newest, whose fields are as they were when it came; NULL: none.  One that is not `arena`'s is
 * not counted as used again: it has changed hands. */
struct hew_extent *hew_shelf_take_one(struct hew_shelf *shelf, size_t size, unsigned arena);

enum hew_shelf_put {
    HEW_SHELF_REFUSED, /* the extent is to be given in the usual way, which ends the process if it is free already */
    HEW_SHELF_PUT,
    HEW_SHELF_PUT_LOOK, /* and it is time to look at the clock */
};

/* An extent with HEW_CODE_SLOW. */
enum hew_shelf_put hew_shelf_put_one(struct hew_shelf *shelf, struct hew_extent *extent);

/* Extents of one size and one class that have been claimed; all of them, or none.  The tally does not hear of it: until a sweep they are
 * out. */
enum hew_shelf_put hew_shelf_put_some(struct hew_shelf *shelf, struct hew_extent *const *extents, unsigned count);

/* Up to `wanted` of just that size, with their class in the address map again, the newest first.  Returns how many. */
unsigned hew_shelf_take_some(struct hew_shelf *shelf, size_t size, struct hew_extent **extents, unsigned wanted);

struct hew_page_heap;

/* All that lies there comes back to the heap.  False: nothing did.  With hooks the lock may be dropped. */
bool hew_shelf_empty(struct hew_page_heap *heap);

/* Nothing lies there from now on. */
void hew_shelf_close(struct hew_page_heap *heap);
/* Under the lock: what large objects have left on the shelf becomes dirty pages.  False: there was nothing. */
bool hew_page_sweep_held(struct hew_page_heap *heap);

/* After a change of what decides whether large extents may lie there. */
void hew_shelf_decide(struct hew_page_heap *heap);

/* In a fork's child: what another thread was putting or taking is lost. */
void hew_shelf_after_fork(struct hew_shelf *shelf);

HEW_INLINE bool
hew_shelf_is_filled(const struct hew_shelf *shelf)
{
    return atomic_load_explicit(&shelf->filled, memory_order_relaxed);
}

#endif

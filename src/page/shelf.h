/* SPDX-License-Identifier: MIT */
/*
 * shelf: the large extents of a heap that were freed a moment ago, for whoever asks for the same size next.
 *
 * Owns      a few places for each of some groups of threads.  What lies there has not left the heap's active extents and
 *           is counted as out; only the address map says that nothing is there.
 * Promises  put and take are one atomic exchange, without the heap's lock.  Nothing is kept from anybody: before more
 *           memory is touched, before decay and before statistics, a sweep (hew_page_sweep_held()) makes dirty pages of all of it.
 * Locks     hew_shelf_empty() and hew_shelf_decide() are called under the heap's lock.
 * Not here  when to sweep: heap.c, purge.c.
 */
#ifndef HEW_PAGE_SHELF_H
#define HEW_PAGE_SHELF_H

#include "meta/map.h"
#include "page/extent.h"

#define HEW_SHELF_ABOVE ((size_t)1 << 20) /* smaller ones are the magazines' */
#define HEW_SHELF_BELOW ((size_t)1 << (16 + HEW_LG_PAGE)) /* so that a place tells the size: see shelf.c */
#define HEW_SHELF_RANKS 8
#define HEW_SHELF_PLACES 7
#define HEW_SHELF_LG_POINTER 48
#define HEW_SHELF_GIVES_TO_CLOCK 64

/* One cache line, for the threads whose tokens lead here. */
struct hew_shelf_rank {
    _Atomic uint64_t place[HEW_SHELF_PLACES]; /* acquire and release: whoever takes an extent out owns it */
    _Atomic uint32_t gives;                   /* relaxed */
} HEW_ALIGNED(HEW_CACHE_LINE);

struct hew_large_counts { /* relaxed */
    _Atomic uint64_t nmalloc, ndalloc; /* extents that left the arena and came back, thread caches included */
    _Atomic uint64_t reused;           /* and by way of the shelf: one of each, and a request */
    _Atomic uint64_t nrequests;        /* requests that no thread cache has counted */
};

/* What is counted of an arena's large objects: by hew_large_index(). */
struct hew_large_tally {
    struct hew_large_counts *classes;
    _Atomic size_t *bytes; /* usable ones that are out: relaxed */
};

struct hew_shelf {
    struct hew_shelf_rank rank[HEW_SHELF_RANKS];
    struct hew_large_tally tally; /* set before the shelf is opened */
    _Atomic bool open;            /* written under the heap's lock */
    _Atomic bool filled;          /* false: there is nothing on it */
};

/* The place of a large extent of `bytes` among an arena's counts. */
HEW_INLINE unsigned
hew_large_index(size_t bytes)
{
    return hew_class_index(bytes) - HEW_CODE_SMALL_LAST;
}

/* Threads' own data lies a multiple of pages apart. */
HEW_INLINE struct hew_shelf_rank *
hew_shelf_own_rank(struct hew_shelf *shelf)
{
    return &shelf->rank[((uintptr_t)hew_thread_token() >> HEW_LG_PAGE) % HEW_SHELF_RANKS];
}

/* A place holds an extent with its pages above the pointer, so that nobody looks into one that is not his. */
HEW_INLINE uint64_t
hew_shelf_word_of(const struct hew_extent *extent)
{
    return (uint64_t)(extent->size >> HEW_LG_PAGE) << HEW_SHELF_LG_POINTER | (uintptr_t)extent;
}

HEW_INLINE struct hew_extent *
hew_shelf_extent_in(uint64_t word)
{
    return (struct hew_extent *)(uintptr_t)(word & (((uint64_t)1 << HEW_SHELF_LG_POINTER) - 1)); // NOLINT(performance-no-int-to-ptr)
}

/* An active extent of just that size, whose fields are as they were when it came; NULL when none lies there. */
HEW_INLINE struct hew_extent *
hew_shelf_take(struct hew_shelf *shelf, size_t size)
{
    struct hew_shelf_rank *rank = hew_shelf_own_rank(shelf);
    for (unsigned i = 0; i < HEW_SHELF_PLACES; i++) {
        uint64_t word = atomic_load_explicit(&rank->place[i], memory_order_relaxed);
        if (word >> HEW_SHELF_LG_POINTER == size >> HEW_LG_PAGE &&
            atomic_compare_exchange_strong_explicit(
                &rank->place[i], &word, 0, memory_order_acquire, memory_order_relaxed)) {
            struct hew_extent *extent = hew_shelf_extent_in(word);
            hew_map_set_code(extent->address, HEW_CODE_SLOW);
            atomic_fetch_add_explicit(&shelf->tally.classes[hew_large_index(size)].reused, 1, memory_order_relaxed);
            return extent;
        }
    }
    return NULL;
}

/* An empty place, or one after the other. */
HEW_INLINE unsigned
hew_shelf_choose(struct hew_shelf_rank *rank, uint32_t turn)
{
    for (unsigned i = 0; i < HEW_SHELF_PLACES; i++) {
        if (atomic_load_explicit(&rank->place[i], memory_order_relaxed) == 0) {
            return i;
        }
    }
    return turn % HEW_SHELF_PLACES;
}

/* The extent that was in its place before, which is to be given in the usual way, or NULL.  `look`: it is time to look at the clock. */
HEW_INLINE struct hew_extent *
hew_shelf_put(struct hew_shelf *shelf, struct hew_extent *extent, bool *look)
{
    struct hew_shelf_rank *rank = hew_shelf_own_rank(shelf);
    uint32_t gives = atomic_load_explicit(&rank->gives, memory_order_relaxed) + 1;
    atomic_store_explicit(&rank->gives, gives, memory_order_relaxed);
    *look = gives % HEW_SHELF_GIVES_TO_CLOCK == 0;
    hew_map_set_code(extent->address, HEW_CODE_NONE);
    uint64_t former = atomic_exchange(&rank->place[hew_shelf_choose(rank, gives)], hew_shelf_word_of(extent));
    /* After the exchange: a sweep that has missed it has lowered the mark before. */
    if (!atomic_load(&shelf->filled)) {
        atomic_store(&shelf->filled, true);
    }
    return hew_shelf_extent_in(former);
}

struct hew_page_heap;

/* All that lies there comes back to the heap.  False: nothing did.  With hooks the lock may be dropped. */
bool hew_shelf_empty(struct hew_page_heap *heap);

/* After a change of what decides whether large extents may lie there. */
void hew_shelf_decide(struct hew_page_heap *heap);

HEW_INLINE bool
hew_shelf_is_filled(const struct hew_shelf *shelf)
{
    return atomic_load_explicit(&shelf->filled, memory_order_relaxed);
}

#endif

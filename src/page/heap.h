/* SPDX-License-Identifier: MIT */
/*
 * heap: the pages of one arena.
 *
 * Owns      the arena's mappings (regions), split into extents; the pools of free ones; the decay of both pools.
 * Promises  no two extents overlap; both address maps agree with every active extent; neighbours in one pool and one
 *           region are merged; memory is asked of the system only when no free extent fits.
 * Locks     its own `lock` (rank: page), taken inside; no system call that can take long is made under it, except
 *           mapping.
 * Not here  when to purge: control/purger.c (this layer only raises hew_page_due).  What a slab is: slab/.
 */
#ifndef HEW_PAGE_HEAP_H
#define HEW_PAGE_HEAP_H

#include "os/memory.h"
#include "os/mutex.h"
#include "page/decay.h"
#include "page/pool.h"

struct hew_page_counts { /* all bytes but the last three */
    size_t active, mapped, dirty, muzzy, retained;
    uint64_t dirty_purged, muzzy_purged;
    uint64_t dirty_purges, purge_calls, maps;
};

struct hew_page_heap {
    struct hew_mutex lock;
    /* Everything below is guarded by `lock`. */
    struct hew_pool dirty, muzzy, retained;
    struct hew_decay dirty_decay, muzzy_decay;
    struct hew_list transit;  /* extents that somebody purges without the lock */
    struct hew_extent *spare; /* unused extent structs, linked by free.next */
    size_t grow_bytes;        /* size of the next mapping */
    struct hew_page_counts counts;
    uint16_t arena;
    uint8_t gives_to_clock; /* gives until the clock is looked at */
    _Atomic bool is_private; /* no thread's cache may keep what lies here: the address map says HEW_CODE_SLOW for all of it */
};

/* Raised to 1 when some heap holds enough idle memory for a purger to be worth its while, and when the heaps have become
 * large; lowered by the purger. */
extern _Atomic uint32_t hew_page_due;

HEW_INLINE void
hew_page_raise_due(void)
{
    uint32_t quiet = 0;
    if (atomic_load_explicit(&hew_page_due, memory_order_relaxed) == quiet) {
        atomic_compare_exchange_strong(&hew_page_due, &quiet, 1);
    }
}

/* Bytes of all heaps' mappings: relaxed, a hint for what is in proportion. */
extern _Atomic size_t hew_page_mapped;

void hew_page_heap_begin(struct hew_page_heap *heap, uint16_t arena, uint64_t now_ms);

/*
 * An active extent of `size` bytes at a multiple of `alignment`, both whole pages, with `code` in the address map: on
 * every grain for a slab code, on the first otherwise.  ->zeroed tells whether it is known to read as zeros.  NULL when
 * the system has no more memory.
 */
struct hew_extent *hew_page_take(struct hew_page_heap *heap, size_t size, size_t alignment, unsigned code);

/* Threads' caches may keep what lies in the heap from now on. */
void hew_page_share(struct hew_page_heap *heap);

/* A large extent gets another code in the address map. */
void hew_page_recode(struct hew_page_heap *heap, struct hew_extent *extent, unsigned code);

/* The pages become dirty.  The extent is the heap's again. */
void hew_page_give(struct hew_page_heap *heap, struct hew_extent *extent);

/* Grows a large extent by the free pages behind it, or cuts its tail off.  False: nothing has changed. */
bool hew_page_grow(struct hew_page_heap *heap, struct hew_extent *extent, size_t size);
bool hew_page_shrink(struct hew_page_heap *heap, struct hew_extent *extent, size_t size);

/*
 * Moves the pages of `from` to the front of `to` (at least as large) without copying.  Both stay active; `from` reads as
 * zeros afterwards.  HEW_OS_PLACE_LOST: `to` may only be abandoned.
 */
enum hew_os_moved hew_page_move(struct hew_extent *from, struct hew_extent *to);

/* Forgets an active extent: its pages are no longer known to be the heap's.  They are neither touched nor given back. */
void hew_page_abandon(struct hew_page_heap *heap, struct hew_extent *extent);

/* Returns what decay says is due (`all`: everything that is free).  May call the system; the lock is dropped for it. */
void hew_page_decay(struct hew_page_heap *heap, uint64_t now_ms, bool all);

/* Returns everything that is free, and its address space: the system has run out of either. */
void hew_page_release(struct hew_page_heap *heap);

/* In a fork's child: what other threads were purging is dirty again. */
void hew_page_after_fork(struct hew_page_heap *heap);

/* Milliseconds until decay may have something to do; 0 when the heap holds nothing that decays. */
uint64_t hew_page_next_ms(struct hew_page_heap *heap);

struct hew_page_counts hew_page_counts(struct hew_page_heap *heap);

/* Under the lock: every pool agrees with the map. */
bool hew_page_heap_valid(struct hew_page_heap *heap);

#endif

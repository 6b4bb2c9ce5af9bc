/* SPDX-License-Identifier: MIT */
/*
 * heap: the pages that some arenas share, or that one has alone.
 *
 * Owns      mappings (regions), split into extents; the stocks of free ones; the decay of both stocks.
 * Promises  no two extents overlap; both address maps agree with every active extent; before more memory is touched or
 *           asked of the system, neighbours in one stock and one region are merged.
 * Locks     its own `lock` (rank: page), taken inside; no system call that can take long is made under it, except
 *           mapping.
 * Not here  when to purge: control/purger.c (this layer only raises hew_page_due).  What a slab is: slab/.
 */
#ifndef HEW_PAGE_HEAP_H
#define HEW_PAGE_HEAP_H

#include "os/memory.h"
#include "os/mutex.h"
#include "page/decay.h"
#include "page/due.h"
#include "page/moved.h"
#include "page/shelf.h"
#include "page/stock.h"

struct hew_page_counts {
    size_t active, mapped, dirty, muzzy, retained; /* bytes */
    size_t abandoned;                              /* bytes, ever */
    uint64_t dirty_purged, muzzy_purged;           /* bytes that left that state: muzzy ones leave two of them */
    uint64_t dirty_purges, muzzy_purges;           /* rounds in which some did */
    uint64_t dirty_calls, muzzy_calls;             /* ranges that were given to the system */
    uint64_t maps;
    uint64_t pieces_moved, bytes_moved; /* into large objects that would else have been fresh memory: gather.h */
    size_t structs, spare_structs;      /* extent structs made, and unused ones among them */
};

/* The free extents of one bucket of sizes, by state. */
struct hew_page_bucket {
    struct hew_stock_count dirty, muzzy, retained;
};

struct hew_extent_hooks;

struct hew_page_heap {
    struct hew_mutex lock;
    /* Everything below is guarded by `lock`. */
    struct hew_stock dirty, muzzy, retained;
    struct hew_decay dirty_decay, muzzy_decay;
    struct hew_moved moved;
    struct hew_list transit;  /* extents that somebody purges without the lock */
    struct hew_extent *spare; /* unused extent structs, linked by free.next */
    size_t grow_bytes;        /* size of the next mapping */
    size_t grow_limit;        /* it becomes no larger, unless a request is */
    struct {
        uintptr_t address;
        size_t size;
        uint32_t region;
    } probe;                      /* the beginning of the last region, where no huge pages are asked for: huge.c */
    bool huge;                    /* some region asks for huge pages by the heap's own choice */
    bool dense;                   /* what was handed out there, when it was last looked at, had been touched */
    uintptr_t run_start, run_end; /* the last mapping, with those before it that it touches: one region */
    uint32_t run_region;
    struct hew_extent_hooks *hooks; /* NULL: none were ever set, and nothing in hooked.c concerns this heap */
    struct hew_page_counts counts;
    size_t peak_from;    /* held bytes from which on its memory is looked at */
    size_t active_pages; /* counts.active again, for programs that look at it at any time: relaxed */
    uint16_t arena; /* the one that owns it; the extents of the others that share it are marked when they are taken */
    uint8_t gives_to_clock; /* gives until the clock is looked at */
    uint8_t dss;            /* enum hew_dss */
    uint8_t thp;            /* enum hew_thp */
    bool whole;             /* a hook has refused to split: no mapping is larger than the request */
    bool ending;            /* no purge may begin */
    bool scarce;            /* the system has refused memory before */
    bool watched;           /* the program looks at active_pages */
    _Atomic bool
        is_private; /* no thread's cache may keep what lies here: the address map says HEW_CODE_SLOW for all of it */
    struct hew_shelf shelf; /* has marks of its own: see there.  The last: the rest is written when a heap begins */
};

/* What an arena takes its pages from. */
struct hew_page_client {
    struct hew_page_heap *heap; /* fixed when the arena is made */
    uint16_t arena;             /* in the extents that the arena takes */
};

void hew_page_heap_begin(struct hew_page_heap *heap, uint16_t arena, uint64_t now_ms);

/*
 * An active extent of `size` bytes at a multiple of `alignment`, both whole pages, with `code` in the address map: on
 * every grain for a slab code, on the first otherwise.  ->zeroed tells whether it is known to read as zeros.  NULL when
 * the system has no more memory.
 */
struct hew_extent *hew_page_take(struct hew_page_heap *heap, size_t size, size_t alignment, unsigned code);

/* Up to `wanted` active extents of just that size with dirty pages; returns how many are at hand. */
unsigned hew_page_take_same(struct hew_page_heap *heap, size_t size, unsigned code, struct hew_extent **extents,
                            unsigned wanted);

/* Large extents of that arena may lie on the heap's shelf from now on, and are counted in `tally` as they leave it.  Under
 * the lock. */
void hew_page_open_shelf(struct hew_page_heap *heap, unsigned arena, struct hew_large_tally tally);

/* All that lies on the shelf becomes dirty pages. */
void hew_page_sweep(struct hew_page_heap *heap);

/* Where the heap's count of active pages is, exact at any time from now on: nothing is shelved any more. */
size_t *hew_page_watch_active(struct hew_page_heap *heap);

/* Threads' caches may keep what lies in the heap from now on. */
void hew_page_share(struct hew_page_heap *heap);

/* A large extent gets another code in the address map. */
void hew_page_recode(struct hew_page_heap *heap, struct hew_extent *extent, unsigned code);

/* The pages become dirty.  The extent is the heap's again. */
void hew_page_give(struct hew_page_heap *heap, struct hew_extent *extent);
void hew_page_give_some(struct hew_page_heap *heap, struct hew_extent *const *extents, unsigned count);

/* The memory of a large extent goes to the system at once, whatever decay says.  False, nothing done: it is to be kept for ever, and
 * the extent to be given in the usual way. */
bool hew_page_give_through(struct hew_page_heap *heap, struct hew_extent *extent);

/* The pages of a large extent have moved to another one: what is left is address space.  Not for heaps with hooks. */
void hew_page_give_empty(struct hew_page_heap *heap, struct hew_extent *extent);

/* A large object has grown to `size` bytes, of which the program will touch `fresh` for the first time.  Returns idle bytes to the
 * system until no more of them are left than half of `size`, and no more than `fresh`.  Does nothing with `dirty_decay_ms:-1`. */
void hew_page_offset_growth(struct hew_page_heap *heap, size_t size, size_t fresh);

/* Grows a large extent by the free pages behind it, and offsets those that are fresh; or cuts its tail off.  False: nothing has
 * changed. */
bool hew_page_grow(struct hew_page_heap *heap, struct hew_extent *extent, size_t size);
bool hew_page_shrink(struct hew_page_heap *heap, struct hew_extent *extent, size_t size);

/* Lets the system zero an active extent's pages, which costs nothing for those that are never touched.  False: refused, or
 * the heap has hooks. */
bool hew_page_zero(struct hew_page_heap *heap, struct hew_extent *extent);

/* An active extent is counted in another heap from now on; its address space stays a part of this one's mappings, so it must
 * come back before it is given.  Whoever calls has all of it. */
void hew_page_hand_over(struct hew_page_heap *from, struct hew_page_heap *to, struct hew_extent *extent);

/* An active extent whose last page cannot be touched any more leaves the heap, and the process's map with it. */
void hew_page_discard(struct hew_page_heap *heap, struct hew_extent *extent);

/* Under the lock: an active large extent that nobody but the caller knows of leaves the address map, and comes back.  While pages are
 * moved into it its place may be lost, and be another heap's at once (HEW_OS_PLACE_LOST): then what the map says is that heap's. */
void hew_page_hide(struct hew_extent *extent);
void hew_page_show(struct hew_page_heap *heap, struct hew_extent *extent);

/* Forgets an extent that was hidden: its pages are no longer known to be the heap's.  They are neither touched nor given back. */
void hew_page_abandon(struct hew_page_heap *heap, struct hew_extent *extent);

/* A part of an active extent is about to go back to the system: nothing around it asks for huge pages any more. */
void hew_page_forgo_huge(struct hew_page_heap *heap, struct hew_extent *extent);

/* Returns what decay says is due (`all`: everything that is free).  May call the system; the lock is dropped for it. */
void hew_page_decay(struct hew_page_heap *heap, uint64_t now_ms, bool all);

/* Bytes that are dirty or muzzy. */
size_t hew_page_idle(struct hew_page_heap *heap);

/* Returns about `wanted` idle bytes to the system: what is muzzy, then what has been dirty for longest.  How many went. */
size_t hew_page_purge_some(struct hew_page_heap *heap, size_t wanted);

/* What has waited long enough goes back, if it is time to look. */
void hew_page_look(struct hew_page_heap *heap);

/* A large extent without a class code that nobody uses any more is put on the shelf.  False: it is to be given in the usual
 * way. */
HEW_INLINE bool
hew_page_shelve_one(struct hew_page_heap *heap, struct hew_extent *extent)
{
    enum hew_shelf_put done = hew_shelf_put_one(&heap->shelf, extent);
    if (HEW_UNLIKELY(done == HEW_SHELF_PUT_LOOK)) {
        hew_page_look(heap);
    }
    return done != HEW_SHELF_REFUSED;
}

/* Returns everything that is free, and its address space: the system has run out of either.  From now on the heap keeps
 * little. */
void hew_page_release(struct hew_page_heap *heap);

/* In a fork's child: what other threads were purging is dirty again. */
void hew_page_after_fork(struct hew_page_heap *heap);

/* Another time for one of the heap's two decays; what is idle in its stock goes at once, unless the time is -1. */
void hew_page_set_decay(struct hew_page_heap *heap, struct hew_decay *decay, int64_t decay_ms, uint64_t now_ms);

/* The hooks are asked from now on, for memory that came without them, too.  Returns the former table or NULL. */
struct hew_extent_hooks *hew_page_set_hooks(struct hew_page_heap *heap, struct hew_extent_hooks *hooks);

/*
 * The end of a heap without active extents: waits for those who purge, and gives every range back.  What cannot go, since
 * it came from sbrk, becomes `heir`'s.  The heap can begin again.
 */
void hew_page_heap_end(struct hew_page_heap *heap, struct hew_page_heap *heir);

/* Milliseconds until decay may have something to do; 0 when the heap holds nothing that decays. */
uint64_t hew_page_next_ms(struct hew_page_heap *heap);

struct hew_page_counts hew_page_counts(struct hew_page_heap *heap);

/* The same, and the free extents of that moment by size. */
struct hew_page_counts hew_page_census(struct hew_page_heap *heap, struct hew_page_bucket buckets[HEW_STOCK_BUCKETS]);

/* Under the lock: every stock agrees with the map, and all that is mapped is somewhere. */
bool hew_page_heap_valid(struct hew_page_heap *heap);

/* The same at the end of an operation, where a walk as long is due: os/check.h. */
bool hew_page_valid_if_due(struct hew_page_heap *heap);

#endif

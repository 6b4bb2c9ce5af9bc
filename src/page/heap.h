/* SPDX-License-Identifier: MIT */
/*
 * heap: page heap of one arena, or of several arenas that share it.
 *
 * Owns      mappings (regions), split into extents; the free lists, one per state; the decay of the dirty and the muzzy
 *           one.
 * Promises  extents never overlap.  Both address maps agree with every active extent.  Before the heap touches more
 *           memory or maps more, it coalesces neighbours that are in one free list and one region.
 * Locks     its own `lock` (rank: page), taken inside.  Under it no slow system call is made, except mapping.
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
    size_t abandoned;                              /* bytes, in total */
    uint64_t dirty_purged, muzzy_purged;           /* bytes that left that state: muzzy bytes leave both */
    uint64_t dirty_purges, muzzy_purges;           /* purge passes that returned some */
    uint64_t dirty_calls, muzzy_calls;             /* ranges returned to the system */
    uint64_t maps;
    uint64_t pieces_moved, bytes_moved; /* by mremap into large objects, instead of fresh memory: gather.h */
    size_t structs, spare_structs;      /* extent structs made, and how many of them are unused */
};

/* The free extents of one size bucket, by state. */
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
    struct hew_list transit;  /* extents that a thread purges without the lock */
    struct hew_extent *spare; /* unused extent structs, linked by free.next */
    size_t grow_bytes;        /* size of the next mapping */
    size_t grow_limit;        /* the limit of `grow_bytes`; only a larger request maps more */
    struct {
        uintptr_t address;
        size_t size;
        uint32_t region;
    } probe;                      /* the start of the last region, which keeps small pages: huge.c */
    bool huge;                    /* some region asks for huge pages by the heap's own choice */
    bool dense;                   /* at the last sample, the allocated memory in `probe` had been touched */
    uintptr_t run_start, run_end; /* the last mapping and adjacent earlier ones: one region */
    uint32_t run_region;
    struct hew_extent_hooks *hooks; /* NULL: never set; hooked.c does not concern this heap */
    struct hew_page_counts counts;
    size_t peak_from;    /* its memory is scanned once it holds more bytes than this */
    size_t active_pages; /* counts.active in pages, for programs that read it at any time: relaxed */
    uint16_t arena;      /* the owner.  Extents allocated by an arena that shares the heap carry that arena's number */
    uint8_t gives_to_clock;  /* frees until the next clock read */
    uint8_t dss;             /* enum hew_dss */
    uint8_t thp;             /* enum hew_thp */
    bool whole;              /* a hook has refused to split: no mapping is larger than its request */
    bool ending;             /* no purge may begin */
    bool scarce;             /* the system has refused memory before */
    bool watched;            /* the program reads active_pages */
    _Atomic bool is_private; /* thread caches may keep none of its memory: the map shows HEW_CODE_SLOW */
    struct hew_shelf shelf;  /* has its own try-locks.  Last member: the others are written when a heap begins */
};

/* Where an arena gets its pages. */
struct hew_page_client {
    struct hew_page_heap *heap; /* fixed when the arena is made */
    uint16_t arena;             /* written into the arena's extents */
};

void hew_page_heap_begin(struct hew_page_heap *heap, uint16_t arena, uint64_t now_ms);

/*
 * Allocates an active extent of `size` bytes at a multiple of `alignment`, both whole pages.  The address map gets
 * `code`: on every granule for a slab class, otherwise on the first.  ->zeroed is set if the memory is known to read as
 * zeros.  Returns NULL when the system has no more memory.
 */
struct hew_extent *hew_page_take(struct hew_page_heap *heap, size_t size, size_t alignment, unsigned code);

/* Allocates up to `wanted` active extents of exactly that size from dirty pages.  Returns how many there were. */
unsigned hew_page_take_same(struct hew_page_heap *heap, size_t size, unsigned code, struct hew_extent **extents,
                            unsigned wanted);

/* Lock held.  Opens the large-extent cache for that arena's extents.  `tally` counts them as they leave it. */
void hew_page_open_shelf(struct hew_page_heap *heap, unsigned arena, struct hew_large_tally tally);

/* Turns everything in the large-extent cache into dirty pages. */
void hew_page_sweep(struct hew_page_heap *heap);

/* Returns the address of the heap's count of active pages, which is exact from now on: the large-extent cache
 * closes. */
size_t *hew_page_watch_active(struct hew_page_heap *heap);

/* From now on thread caches may keep memory of this heap. */
void hew_page_share(struct hew_page_heap *heap);

/* Changes a large extent's size-class index, in the address map too. */
void hew_page_recode(struct hew_page_heap *heap, struct hew_extent *extent, unsigned code);

/* Frees the extent to the heap: its pages become dirty. */
void hew_page_give(struct hew_page_heap *heap, struct hew_extent *extent);
void hew_page_give_some(struct hew_page_heap *heap, struct hew_extent *const *extents, unsigned count);

/* Returns a large extent's memory to the system immediately, regardless of decay.  Returns false, with nothing done, if
 * decay keeps memory for ever: the caller then frees the extent in the usual way. */
bool hew_page_give_through(struct hew_page_heap *heap, struct hew_extent *extent);

/* Frees a large extent whose pages have moved to another one: only address space is left.  Not for heaps with hooks. */
void hew_page_give_empty(struct hew_page_heap *heap, struct hew_extent *extent);

/* Offsets the growth of a large object to `size` bytes, of which the program will touch `fresh` for the first time.
 * Returns at most `fresh` idle bytes to the system, until at most half of `size` stays idle.  Does nothing with
 * `dirty_decay_ms:-1`. */
void hew_page_offset_growth(struct hew_page_heap *heap, size_t size, size_t fresh);

/* Grow: extends a large extent over the free pages behind it, and offsets the fresh ones.  Shrink: cuts its tail off.
 * False: nothing has changed. */
bool hew_page_grow(struct hew_page_heap *heap, struct hew_extent *extent, size_t size);
bool hew_page_shrink(struct hew_page_heap *heap, struct hew_extent *extent, size_t size);

/* Lets the system zero an active extent's pages: pages that are never touched cost nothing.  Returns false if the
 * system refused or the heap has hooks. */
bool hew_page_zero(struct hew_page_heap *heap, struct hew_extent *extent);

/* Counts an active extent in another heap from now on.  Its address space stays a part of this heap's mappings, so it
 * must come back before it is freed.  The caller must own all of it. */
void hew_page_hand_over(struct hew_page_heap *from, struct hew_page_heap *to, struct hew_extent *extent);

/* Removes an active extent whose last page can no longer be touched from the heap and from the process's map. */
void hew_page_discard(struct hew_page_heap *heap, struct hew_extent *extent);

/* Lock held.  Hide takes an active large extent, which only the caller knows, out of the address map; show puts it
 * back.  While pages are moved into it, the system may lose its place to another heap (HEW_OS_PLACE_LOST).  The map
 * entries there are then that heap's. */
void hew_page_hide(struct hew_extent *extent);
void hew_page_show(struct hew_page_heap *heap, struct hew_extent *extent);

/* Forgets a hidden extent.  Its pages are no longer known to be the heap's, so they are neither touched nor freed. */
void hew_page_abandon(struct hew_page_heap *heap, struct hew_extent *extent);

/* A part of an active extent is about to return to the system: nothing around it asks for huge pages any more. */
void hew_page_forgo_huge(struct hew_page_heap *heap, struct hew_extent *extent);

/* Returns to the system what decay says is due (`all`: everything free).  Drops the lock around system calls. */
void hew_page_decay(struct hew_page_heap *heap, uint64_t now_ms, bool all);

/* Bytes that are dirty or muzzy. */
size_t hew_page_idle(struct hew_page_heap *heap);

/* Returns about `wanted` idle bytes to the system: first muzzy ones, then those that have been dirty longest.  The
 * result is how many bytes went. */
size_t hew_page_purge_some(struct hew_page_heap *heap, size_t wanted);

/* Reads the clock, and purges what decay says is due. */
void hew_page_look(struct hew_page_heap *heap);

/* Puts an unused large extent of no size class into the large-extent cache.  False: the caller frees it in the usual
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

/* Returns all free memory and its address space, because the system has run out of one of them.  From now on the heap
 * keeps little. */
void hew_page_release(struct hew_page_heap *heap);

/* In a fork's child: extents that other threads were purging become dirty again. */
void hew_page_after_fork(struct hew_page_heap *heap);

/* Sets the time of one of the heap's two decays, and purges that free list immediately, unless the time is -1. */
void hew_page_set_decay(struct hew_page_heap *heap, struct hew_decay *decay, int64_t decay_ms, uint64_t now_ms);

/* Uses these hooks from now on, also for memory that was mapped without them.  Returns the former table, or NULL. */
struct hew_extent_hooks *hew_page_set_hooks(struct hew_page_heap *heap, struct hew_extent_hooks *hooks);

/*
 * Ends a heap without active extents: waits for purges in progress, and returns every range.  Ranges from sbrk cannot
 * be returned; they move to `heir`.  The heap can begin again.
 */
void hew_page_heap_end(struct hew_page_heap *heap, struct hew_page_heap *heir);

/* Milliseconds until decay may have work to do; 0 when the heap holds nothing that decays. */
uint64_t hew_page_next_ms(struct hew_page_heap *heap);

struct hew_page_counts hew_page_counts(struct hew_page_heap *heap);

/* The same, with the free extents of that moment by size. */
struct hew_page_counts hew_page_census(struct hew_page_heap *heap, struct hew_page_bucket buckets[HEW_STOCK_BUCKETS]);

/* Lock held.  Checks that every free list agrees with the map, and that all mapped bytes are accounted for. */
bool hew_page_heap_valid(struct hew_page_heap *heap);

/* The same check at the end of an operation, only if a walk of that length is due: os/check.h. */
bool hew_page_valid_if_due(struct hew_page_heap *heap);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * bin: one arena's slabs of one small class.
 *
 * Owns      every slab of the class: the current one, the other ones with free regions (lowest address first), and,
 *           the full ones, listed only where somebody may want to empty the bin.  A slab that becomes wholly free goes back to the page heap, but for the current.
 * Promises  objects leave in rising address order from the lowest slab; bad addresses are found before anything changes.
 * Locks     its own `lock` (rank: bin), never held while the page heap is called.
 * Not here  thread caches: cache/.  Slabs that are there from the start: reserve.c.
 */
#ifndef HEW_SLAB_BIN_H
#define HEW_SLAB_BIN_H

#include "base/heap.h"
#include "os/mutex.h"
#include "page/heap.h"
#include "slab/slab.h"

struct hew_bin_counts {
    uint64_t nmalloc, ndalloc; /* regions that left and came back */
    uint64_t fills, flushes;
    uint64_t slabs_ever, reslabs; /* slabs made; times an older slab became the current one */
    size_t slabs;
    size_t nonfull;
};

struct hew_bin {
    struct hew_mutex lock;
    /* Guarded by `lock`. */
    struct hew_extent *current;
    struct hew_heap nonfull;
    struct hew_bin_counts counts;
    struct hew_list full; /* the full slabs but for the current, if the arena can be emptied; else not begun */
};

/* Full slabs are listed from now on: before the first take. */
void hew_bin_list_full(struct hew_bin *bin);

/* Every region that is out goes back, unseen, and every slab with it. */
void hew_bin_clear(struct hew_bin *bin, struct hew_page_heap *pages);

/* The current slab goes back if it is wholly free: nobody has asked for a while, or idle memory is to go. */
void hew_bin_trim(struct hew_bin *bin, struct hew_page_heap *pages);

/* Up to `wanted` regions of class `code`, the lowest one last; at least one unless the system has no more memory. */
unsigned hew_bin_take(struct hew_bin *bin, struct hew_page_heap *pages, unsigned code, void **regions, unsigned wanted);

/*
 * Takes back `count` objects, at least one; the first lies in a slab of this bin.  Returns how many were good: less than
 * `count` means that the next one is not a taken region of this bin; what follows it has not been looked at.
 */
unsigned hew_bin_give(struct hew_bin *bin, struct hew_page_heap *pages, void *const *objects, unsigned count);

/* Under the lock: counts and bits agree for the current slab and every nonfull one. */
bool hew_bin_valid(const struct hew_bin *bin);

/* The same at the end of an operation, where a walk as long is due: os/check.h. */
bool hew_bin_valid_if_due(const struct hew_bin *bin);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * bin: one arena's slabs of one small class.
 *
 * Owns      every slab of the class: the current one, the other ones with free regions (those without holes first, then the
 *           lowest address), and,
 *           the full ones, listed only where somebody may want to empty the bin.  A slab that becomes wholly free goes back to the page heap, but for the current.
 * Promises  objects leave in rising address order from the lowest slab; bad addresses are found before anything changes.
 * Locks     its own `lock` (rank: bin), never held while the page heap is called.
 * Not here  thread caches: cache/.  Which memory of slabs goes back: holes.c.  Slabs that are there from the start: reserve.c.
 */
#ifndef HEW_SLAB_BIN_H
#define HEW_SLAB_BIN_H

#include "base/heap.h"
#include "os/mutex.h"
#include "page/heap.h"
#include "slab/hole.h"

struct hew_bin_counts {
    uint64_t nmalloc, ndalloc; /* regions that left and came back */
    uint64_t fills, flushes;
    uint64_t slabs_ever, reslabs; /* slabs made; times an older slab became the current one */
    size_t slabs;
    size_t nonfull;
    size_t holes;                           /* bytes of slabs without memory: hole.h */
    uint64_t holes_purged, holes_refaulted; /* bytes that went to the system, and that were handed out again */
    uint64_t holes_calls;                   /* ranges that were given to the system */
};

struct hew_bin {
    struct hew_mutex lock;
    /* Guarded by `lock`. */
    struct hew_extent *current;
    struct hew_heap nonfull;
    struct hew_bin_counts counts;
    struct hew_list full;      /* the full slabs but for the current, if the arena can be emptied; else not begun */
    struct hew_heap_walk walk; /* through `nonfull`, of whoever returns holes */
    const void *walker;        /* his token */
};

/* Full slabs are listed from now on: before the first take. */
void hew_bin_list_full(struct hew_bin *bin);

/* Every region that is out goes back, unseen, and every slab with it. */
void hew_bin_clear(struct hew_bin *bin, struct hew_page_heap *pages);

/* The current slab goes back if it is wholly free: nobody has asked for a while, or idle memory is to go. */
void hew_bin_trim(struct hew_bin *bin, struct hew_page_heap *pages);

/* Up to `wanted` regions of class `code`, the lowest one last; at least one unless the system has no more memory. */
unsigned hew_bin_take(struct hew_bin *bin, const struct hew_page_client *pages, unsigned code, void **regions,
                      unsigned wanted);

/*
 * Takes back `count` objects, at least one; the first lies in a slab of this bin.  Returns how many were good: less than
 * `count` means that the next one is not a taken region of this bin; what follows it has not been looked at.
 */
unsigned hew_bin_give(struct hew_bin *bin, struct hew_page_heap *pages, void *const *objects, unsigned count);

/* Under the lock: the regions of these idle pieces, of a slab that is current or queued, are out, and come back; `gone`: the pieces'
 * memory has gone.  True when the slab should go. */
struct hew_hole_outing hew_bin_take_out(struct hew_bin *bin, struct hew_extent *slab, uint32_t idle);
bool hew_bin_put_back(struct hew_bin *bin, const struct hew_hole_outing *outing, bool gone);

/* Without locks: wholly free slabs that have left their bin. */
void hew_bin_release(struct hew_page_heap *pages, struct hew_extent *const *slabs, unsigned count);

/* Under the lock: counts and bits agree for the current slab and every nonfull one. */
bool hew_bin_valid(const struct hew_bin *bin);

/* The same at the end of an operation, where a walk as long is due: os/check.h. */
bool hew_bin_valid_if_due(const struct hew_bin *bin);

#endif

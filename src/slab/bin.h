/* SPDX-License-Identifier: MIT */
/*
 * bin: one arena's slabs of one small class.
 *
 * Owns      every slab of the class: the current one; the others with free regions, ordered by those without holes
 *           first, then by address; and the full ones, which are listed only in an arena that can be reset.  A slab
 *           that becomes wholly free returns to the page heap, except the current one.
 * Promises  objects leave in rising address order from the lowest slab; bad addresses are detected before anything
 *           changes.
 * Locks     its own `lock` (rank: bin), never held while the page heap is called.
 * Not here  thread caches: cache/.  Which slab memory is returned: holes.c.  Slabs that exist from the start:
 *           reserve.c.
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
    uint64_t holes_purged, holes_refaulted; /* bytes returned to the system, and bytes of those allocated again */
    uint64_t holes_calls;                   /* ranges returned to the system */
};

struct hew_bin {
    struct hew_mutex lock;
    /* Guarded by `lock`. */
    struct hew_extent *current;
    struct hew_heap nonfull;
    struct hew_bin_counts counts;
    struct hew_list full;      /* full slabs except the current one, if the arena can be reset; otherwise not begun */
    struct hew_heap_walk walk; /* walk of `nonfull` by the thread that returns holes */
    const void *walker;        /* that thread's token */
};

/* Lists full slabs from now on.  Called before the first allocation. */
void hew_bin_list_full(struct hew_bin *bin);

/* Frees every region that is out, without checks, and releases every slab. */
void hew_bin_clear(struct hew_bin *bin, struct hew_page_heap *pages);

/* Releases the current slab if it is wholly free: no thread has used it for a while, or idle memory must be
 * returned. */
void hew_bin_trim(struct hew_bin *bin, struct hew_page_heap *pages);

/* Allocates up to `wanted` regions of class `code`, the lowest one last; at least one unless the system has no more
 * memory. */
unsigned hew_bin_take(struct hew_bin *bin, const struct hew_page_client *pages, unsigned code, void **regions,
                      unsigned wanted);

/*
 * Frees `count` objects, at least one; the first lies in a slab of this bin.  Returns how many were good: less than
 * `count` means that the next one is not a taken region of this bin, and that what follows it has not been checked.
 */
unsigned hew_bin_give(struct hew_bin *bin, struct hew_page_heap *pages, void *const *objects, unsigned count);

/* Lock held.  Take out: marks the regions of these idle pieces of a current or queued slab as taken.  Put back: frees
 * them again; `gone`: the pieces' memory has been returned.  True when the slab should be released. */
struct hew_hole_outing hew_bin_take_out(struct hew_bin *bin, struct hew_extent *slab, uint32_t idle);
bool hew_bin_put_back(struct hew_bin *bin, const struct hew_hole_outing *outing, bool gone);

/* Without locks.  Releases wholly free slabs that have left their bin. */
void hew_bin_release(struct hew_page_heap *pages, struct hew_extent *const *slabs, unsigned count);

/* Lock held.  Checks that counts and bits agree for the current slab and every nonfull one. */
bool hew_bin_valid(const struct hew_bin *bin);

/* The same check at the end of an operation, only if a walk of that length is due: os/check.h. */
bool hew_bin_valid_if_due(const struct hew_bin *bin);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * slab: one extent cut into equal regions, with a bit for each.
 *
 *     address                                                              address + size
 *     | region 0 | region 1 | region 2 | ...            | region n-1 | tail |
 *       bit 0      bit 1      bit 2      1 = free          bit n-1
 *
 * Promises  the lowest free regions are handed out first, so that untouched pages stay untouched.
 * Called    under the bin's lock.
 * Not here  which slab to use: bin.c.
 */
#ifndef HEW_SLAB_SLAB_H
#define HEW_SLAB_SLAB_H

#include "page/extent.h"

enum hew_slab_verdict { HEW_SLAB_FREED, HEW_SLAB_NOT_A_REGION, HEW_SLAB_ALREADY_FREE };

/* Every region becomes free.  `extent->code` is the small class.  False when there is no memory for the bits. */
bool hew_slab_begin(struct hew_extent *extent);

/* The bits' memory goes back; every region is free. */
void hew_slab_end(struct hew_extent *extent);

/* Takes up to `wanted` regions in rising order; returns how many. */
unsigned hew_slab_take(struct hew_extent *extent, void **regions, unsigned wanted);

/* An object on its way back, with the slab it was found in. */
struct hew_slab_return {
    uintptr_t address;
    struct hew_extent *slab;
};

/*
 * Takes back the first of `objects` and those that follow it as long as they are of the same slab.  Returns how many were
 * good; unless *verdict is HEW_SLAB_FREED the next one is not a taken region, and what follows it has not been looked at.
 */
unsigned hew_slab_give(const struct hew_slab_return *objects, unsigned count, enum hew_slab_verdict *verdict);

/* The number of the region that `address` lies in; beyond the last one for the tail. */
unsigned hew_slab_region(const struct hew_extent *extent, uintptr_t address);

/* Whether a region is taken: handed out, or parked in some cache. */
bool hew_slab_is_taken(const struct hew_extent *extent, unsigned region);

/* Counts the bits. */
bool hew_slab_valid(const struct hew_extent *extent);

HEW_INLINE const struct hew_slab_shape *
hew_slab_shape(const struct hew_extent *extent)
{
    return &hew_slab_shapes[extent->code];
}

#endif

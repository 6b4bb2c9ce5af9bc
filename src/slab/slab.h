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

struct hew_page_heap;

/* Every region becomes free.  `extent->code` is the small class.  False when there is no memory for the bits. */
bool hew_slab_begin(struct hew_extent *extent);

/* A slab of small class `code`, every region free.  Without the bin's lock.  NULL when there is no memory. */
struct hew_extent *hew_slab_make(struct hew_page_heap *pages, unsigned code);

/* The bits' memory goes back; every region is free. */
void hew_slab_end(struct hew_extent *extent);

/* Takes up to `wanted` regions, the lowest ones, and writes them downwards from `end`: the lowest at the highest place.
 * Returns how many. */
unsigned hew_slab_take(struct hew_extent *extent, void **end, unsigned wanted);

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

/* Takes a region back; false: it is none, or free already.  `shape` is the slab's; the caller has it in registers. */
HEW_INLINE bool
hew_slab_give(struct hew_extent *extent, const struct hew_slab_shape *shape, void *object)
{
    uintptr_t offset = (uintptr_t)object - extent->address;
    uint32_t region = (uint32_t)(offset * (uint64_t)shape->reciprocal >> 32), word = region / 64;
    if (HEW_UNLIKELY(region >= shape->regions || (uintptr_t)region * shape->size != offset)) {
        return false;
    }
    uint64_t *bits = &extent->slab.bits[word], bit = UINT64_C(1) << region % 64;
    if (HEW_UNLIKELY((*bits & bit) != 0)) {
        return false;
    }
    *bits |= bit;
    extent->slab.free_regions++;
    if (word < extent->slab.first_word) {
        extent->slab.first_word = word;
    }
    return true;
}

/* The same for `count` objects, at least one, up to the first that is wrong; returns how many. */
unsigned hew_slab_give_some(struct hew_extent *extent, void *const *objects, unsigned count);

#endif

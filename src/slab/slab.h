/* SPDX-License-Identifier: MIT */
/*
 * slab: one extent cut into equal regions, with a bit for each.
 *
 *     address                                                              address + size
 *     | region 0 | region 1 | region 2 | ...            | region n-1 | tail |
 *       bit 0      bit 1      bit 2      1 = free          bit n-1
 *
 * Promises  the lowest free regions are allocated first, so that untouched pages stay untouched.
 * Called    under the bin's lock.
 * Not here  which slab to use: bin.c.
 */
#ifndef HEW_SLAB_SLAB_H
#define HEW_SLAB_SLAB_H

#include "page/extent.h"

struct hew_page_client;

/* Makes every region free.  `extent->code` is the small class.  False when there is no memory for the bits. */
bool hew_slab_begin(struct hew_extent *extent);

/* Makes a slab of small class `code`, every region free.  Without the bin's lock.  NULL when there is no memory. */
struct hew_extent *hew_slab_make(const struct hew_page_client *pages, unsigned code);

/* Frees the memory of the bits; every region must be free. */
void hew_slab_end(struct hew_extent *extent);

/* Allocates up to `wanted` regions, the lowest ones, and writes them downwards from `end`: the lowest at the highest
 * place.  Returns how many. */
unsigned hew_slab_take(struct hew_extent *extent, void **end, unsigned wanted);

/* The number of the region that `address` lies in; beyond the last one for the tail. */
unsigned hew_slab_region(const struct hew_extent *extent, uintptr_t address);

/* Returns whether a region is taken: allocated, or free in some cache. */
bool hew_slab_is_taken(const struct hew_extent *extent, unsigned region);

/* The pages of some free regions have lost their contents: forgets the canaries of all free regions (slab/mark.h).
 * Under the bin's lock. */
void hew_slab_forget_contents(struct hew_extent *extent);

/* Checks the count of free regions against the bits. */
bool hew_slab_valid(const struct hew_extent *extent);

HEW_INLINE const struct hew_slab_shape *
hew_slab_shape(const struct hew_extent *extent)
{
    return &hew_slab_shapes[extent->code];
}

/*
 * Frees the objects from `objects` to `end`, at least one, up to the first that is not in this slab or is not out.
 * Returns how many.  `shape` is the slab's; the caller has it in registers.  The low 64 bits of offset * reciprocal are
 * the region's number times less than the size where a region begins, and at least the reciprocal elsewhere.
 */
HEW_INLINE unsigned
hew_slab_give(struct hew_extent *extent, const struct hew_slab_shape *shape, void *const *objects, void *const *end)
{
    uintptr_t start = extent->address;
    uint64_t *bits = extent->slab.bits;
    void *const *at = objects;
    do {
        uintptr_t offset = (uintptr_t)*at - start;
        if (offset >= shape->bytes) {
            break;
        }
        unsigned __int128 product = (unsigned __int128)offset * shape->reciprocal;
        if (HEW_UNLIKELY((uint64_t)product >= shape->reciprocal)) {
            break;
        }
        uint64_t region = (uint64_t)(product >> 64), *word = &bits[region / 64];
        if (HEW_UNLIKELY((*word >> region % 64 & 1) != 0)) {
            break;
        }
        *word |= UINT64_C(1) << region % 64;
    } while (++at != end);
    unsigned done = (unsigned)(at - objects);
    extent->slab.free_regions += done;
    extent->slab.first_word = 0;
    HEW_ASSERT(1, extent->slab.free_regions <= shape->regions);
    HEW_ASSERT(2, hew_slab_valid(extent));
    return done;
}

#endif

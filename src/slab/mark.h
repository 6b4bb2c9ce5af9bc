/* SPDX-License-Identifier: MIT */
/*
 * mark: one byte for each region of a slab, which says whether the program has the region.  Slabs have marks only with
 * hardening:check or full.  A cache does not change them, so a mark is right wherever a free region lies.
 *
 * The marks lie before the slab's bits, in hew's own memory, out of reach of the program's writes.  One more is for the
 * beginning of the slab's tail, which is never out.  The extent holds what a look-up needs, in one line.
 *
 * Locks     none: the holder of the object writes its mark.  Two threads that free one object at the same moment may both
 *           see it out; the slab's bit then reports the second one.
 */
#ifndef HEW_SLAB_MARK_H
#define HEW_SLAB_MARK_H

#include "base/options.h"
#include "slab/slab.h"

enum hew_mark {
    HEW_MARK_NEW,  /* free, and its contents are unknown */
    HEW_MARK_OUT,  /* the program has it */
    HEW_MARK_BACK, /* free, with the contents that alloc/harden.h gave it */
};

HEW_INLINE bool
hew_marks_wanted(void)
{
    return HEW_UNLIKELY(hew_options.hardening >= HEW_HARDENING_CHECK);
}

/* The mark of a region of a slab. */
HEW_INLINE uint8_t *
hew_mark_of(const struct hew_extent *slab, uint64_t region)
{
    return slab->marks.first + region;
}

/* The mark of a free or allocated region that begins at `address`. */
HEW_INLINE uint8_t *
hew_mark_known(uintptr_t address)
{
    const struct hew_extent *slab = hew_map_extent_covered(address);
    unsigned __int128 product = (unsigned __int128)(address - slab->address) * slab->marks.reciprocal;
    return hew_mark_of(slab, (uint64_t)(product >> 64)); /* see hew_slab_give() */
}

/* The mark of the region that begins at `address`, where the map shows a small class; or that of the slab's tail, where
 * the tail begins.  NULL: neither. */
HEW_INLINE uint8_t *
hew_mark_at(uintptr_t address)
{
    const struct hew_extent *slab = hew_map_extent_covered(address);
    HEW_ASSERT(1, slab != NULL && slab->code == hew_map_code(address));
    uint64_t reciprocal = slab->marks.reciprocal;
    unsigned __int128 product = (unsigned __int128)(address - slab->address) * reciprocal; /* see hew_slab_give() */
    return HEW_LIKELY((uint64_t)product < reciprocal) ? hew_mark_of(slab, (uint64_t)(product >> 64)) : NULL;
}

#endif

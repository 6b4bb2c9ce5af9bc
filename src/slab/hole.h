/* SPDX-License-Identifier: MIT */
/*
 * hole: the pieces of a slab that have no memory, while the slab itself stays in use.
 *
 *     | piece 0   | piece 1   | piece 2   | piece 3   |      a piece is a page, more in slabs of more than 32
 *     | x |   | x |   |   |   | x | x | x |   |   |   |      x: taken
 *                   absent                  absent           1 = no memory: all regions that lie there are free
 *
 * Owns      the bits of pieces: struct hew_extent, slab.absent.
 * Promises  regions with memory are allocated before those without; a piece with an allocated region is not absent.
 * Called    under the bin's lock.
 * Not here  which pieces to return, and when: holes.c.
 */
#ifndef HEW_SLAB_HOLE_H
#define HEW_SLAB_HOLE_H

#include "slab/slab.h"

#define HEW_HOLE_PIECES 32u

/* A slab whose regions are marked as taken while idle pieces lose their memory.  The regions of absent pieces are
 * marked too, since a region may overlap one piece of each kind.  Meanwhile the slab has no absent pieces. */
struct hew_hole_outing {
    struct hew_extent *slab;
    uint32_t idle, absent;
};

/* Bytes of a piece. */
HEW_INLINE size_t
hew_hole_piece(const struct hew_slab_shape *shape)
{
    return hew_system_pages((shape->pages + HEW_HOLE_PIECES - 1) / HEW_HOLE_PIECES * HEW_PAGE);
}

/* Bytes of those pieces. */
HEW_INLINE size_t
hew_hole_bytes(const struct hew_extent *slab, uint32_t pieces)
{
    return hew_bits_count(pieces) * hew_hole_piece(hew_slab_shape(slab));
}

/* The sort key of slabs with free regions: those without holes first, then by address. */
HEW_INLINE uintptr_t
hew_hole_key(const struct hew_extent *slab)
{
    return slab->address | (uintptr_t)(slab->slab.absent != 0) << (sizeof(uintptr_t) * 8 - 1);
}

/* Returns the piece after the first run of adjacent pieces in `pieces`, which is not 0. */
HEW_INLINE unsigned
hew_hole_run_end(uint32_t pieces)
{
    unsigned first = (unsigned)__builtin_ctz(pieces);
    return first + (unsigned)__builtin_ctzll(~((uint64_t)pieces >> first));
}

/* Returns the pieces that are not absent and whose regions are all free; a piece of only the slab tail does not
 * count. */
uint32_t hew_hole_idle(const struct hew_extent *slab);

/* Marks the regions of these pieces, all free, as taken; and frees them again. */
void hew_hole_take_out(struct hew_extent *slab, uint32_t pieces);
void hew_hole_put_back(struct hew_extent *slab, uint32_t pieces);

/* As hew_slab_take(), for a slab with absent pieces: regions with memory first, the lowest of them, then the rest. */
unsigned hew_hole_take(struct hew_extent *slab, void **end, unsigned wanted);

/* Checks that absent pieces have free regions only. */
bool hew_hole_valid(const struct hew_extent *slab);

#endif

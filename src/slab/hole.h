/* SPDX-License-Identifier: MIT */
/*
 * hole: the pieces of a slab that have no memory, though the slab lives on.
 *
 *     | piece 0   | piece 1   | piece 2   | piece 3   |      a piece is a page, or more in slabs of more than 32
 *     | x |   | x |   |   |   | x | x | x |   |   |   |      x: taken
 *                   absent                  absent           1 = no memory: all regions that lie there are free
 *
 * Owns      the bits of pieces: struct hew_extent, slab.absent.
 * Promises  regions with memory are handed out before those without; a piece whose region is handed out is not absent.
 * Called    under the bin's lock.
 * Not here  which pieces to return, and when: holes.c.
 */
#ifndef HEW_SLAB_HOLE_H
#define HEW_SLAB_HOLE_H

#include "slab/slab.h"

#define HEW_HOLE_PIECES 32u

/* A slab whose regions are out while idle pieces lose their memory.  Those of the absent pieces go with them, since a region may
 * lie on one of each kind; meanwhile the slab has no absent pieces. */
struct hew_hole_outing {
    struct hew_extent *slab;
    uint32_t idle, absent;
};

/* Bytes of a piece. */
HEW_INLINE size_t
hew_hole_piece(const struct hew_slab_shape *shape)
{
    return (shape->pages + HEW_HOLE_PIECES - 1) / HEW_HOLE_PIECES * HEW_PAGE;
}

/* Bytes of those pieces. */
HEW_INLINE size_t
hew_hole_bytes(const struct hew_extent *slab, uint32_t pieces)
{
    return hew_bits_count(pieces) * hew_hole_piece(hew_slab_shape(slab));
}

/* The order of slabs with free regions: those without holes first, then the lowest. */
HEW_INLINE uintptr_t
hew_hole_key(const struct hew_extent *slab)
{
    return slab->address | (uintptr_t)(slab->slab.absent != 0) << (sizeof(uintptr_t) * 8 - 1);
}

/* The piece behind the first run of neighbours among `pieces`, which are some. */
HEW_INLINE unsigned
hew_hole_run_end(uint32_t pieces)
{
    unsigned first = (unsigned)__builtin_ctz(pieces);
    return first + (unsigned)__builtin_ctzll(~((uint64_t)pieces >> first));
}

/* The pieces that are not absent and all of whose regions are free; the tail alone is none. */
uint32_t hew_hole_idle(const struct hew_extent *slab);

/* The regions of these pieces, all free, are taken; and come back. */
void hew_hole_take_out(struct hew_extent *slab, uint32_t pieces);
void hew_hole_put_back(struct hew_extent *slab, uint32_t pieces);

/* As hew_slab_take(), of a slab with absent pieces: those regions first that have memory, the lowest of them, then the rest. */
unsigned hew_hole_take(struct hew_extent *slab, void **end, unsigned wanted);

/* Absent pieces have free regions only. */
bool hew_hole_valid(const struct hew_extent *slab);

#endif

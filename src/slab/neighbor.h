/* SPDX-License-Identifier: MIT */
/*
 * neighbor: free regions in slabs of one automatic arena for a request of another that would else make a slab of fresh memory.
 *
 * Promises  nothing, as long as the arena has dirty pages for a slab of its own, or the other one has few slabs with free regions.  A few arenas
 *           are asked, those first where something was found.  Regions go back to the arena whose slab they are from.
 * Locks     one bin's at a time; which bin is asked is told by numbers that are read without.
 * Not here  whole pages: page/lend.h.
 * Why       threads that pass objects on leave slabs of one arena half empty while another one grows: decision 0083.
 */
#ifndef HEW_SLAB_NEIGHBOR_H
#define HEW_SLAB_NEIGHBOR_H

#include "page/lend.h"
#include "slab/arena.h"

/* Whether there is another arena at all: most programs have one. */
HEW_INLINE bool
hew_neighbor_is_there(void)
{
    return atomic_load_explicit(&hew_lend_count, memory_order_relaxed) > 1;
}

/* Up to `wanted` regions of the class, the lowest one last; 0: the arena has to make a slab. */
unsigned hew_neighbor_take(struct hew_arena *arena, unsigned code, void **regions, unsigned wanted);

#endif

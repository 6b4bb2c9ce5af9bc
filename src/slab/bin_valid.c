/* SPDX-License-Identifier: MIT */
/*
 * bin_valid: consistency checks of a bin.  Check level 3 runs them at the end of each operation, and tests call them.
 */
#include "meta/map.h"
#include "os/check.h"
#include "slab/bin.h"
#include "slab/holes.h"

#define STEPS_A_SLAB 8 /* its bits, and its places in the map */

struct census {
    size_t nonfull, holes, free;
};

static bool
slab_valid(const struct hew_extent *slab, struct census *census)
{
    census->holes += hew_hole_bytes(slab, slab->slab.absent);
    census->free += slab->slab.free_regions;
    return hew_slab_valid(slab) && hew_hole_valid(slab);
}

/* Each slab of the heap must come after its parent in the order of keys.  Adds to `census`. */
static bool
nonfull_valid(const struct hew_heap_node *node, uintptr_t above, struct census *census)
{
    for (; node != NULL; node = node->next, census->nonfull++) {
        const struct hew_extent *slab = HEW_CONTAINER(node, struct hew_extent, slab.node);
        bool placed = node->key == hew_hole_key(slab) && node->key > above && hew_map_extent(slab->address) == slab;
        if (!placed || !slab->slab.queued || slab->slab.free_regions == 0 || !slab_valid(slab, census) ||
            !nonfull_valid(node->child, node->key, census)) {
            return false;
        }
    }
    return true;
}

/* Checks that each region of the bin's slabs is taken or free, except in slabs whose holes are being returned. */
static bool
counts_valid(const struct hew_bin *bin, const struct census *census)
{
    const struct hew_bin_counts *counts = &bin->counts;
    const struct hew_heap_node *root = bin->nonfull.root;
    const struct hew_extent *some = root == NULL ? bin->current : HEW_CONTAINER(root, struct hew_extent, slab.node);
    if (some == NULL) { /* all are full, and in no list */
        return true;
    }
    size_t regions = hew_slab_shape(some)->regions, all = counts->slabs * regions;
    size_t known = (size_t)(counts->nmalloc - counts->ndalloc) + census->free;
    return known <= all && all - known <= HEW_HOLES_AT_ONCE * regions;
}

bool
hew_bin_valid(const struct hew_bin *bin)
{
    struct census census = {0, 0, 0};
    if (bin->current != NULL && (bin->current->slab.queued || !slab_valid(bin->current, &census))) {
        return false;
    }
    return nonfull_valid(bin->nonfull.root, 0, &census) && census.nonfull == bin->counts.nonfull &&
           census.nonfull + (bin->current != NULL) <= bin->counts.slabs && census.holes == bin->counts.holes &&
           counts_valid(bin, &census);
}

bool
hew_bin_valid_if_due(const struct hew_bin *bin)
{
    return !hew_check_may_walk(STEPS_A_SLAB * (bin->counts.nonfull + 1)) || hew_bin_valid(bin);
}

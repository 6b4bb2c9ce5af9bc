/* SPDX-License-Identifier: MIT */
/*
 * bin_valid: whether a bin is as it should be: what check level 3 walks at the end of each operation, and tests ask for.
 */
#include "meta/map.h"
#include "os/check.h"
#include "slab/bin.h"

#define STEPS_A_SLAB 8 /* its bits, and its places in the map */

/* The lowest slab leads its siblings' children: each is above its parent.  Adds to `count`. */
static bool
nonfull_valid(const struct hew_heap_node *node, uintptr_t above, size_t *count)
{
    for (; node != NULL; node = node->next, ++*count) {
        const struct hew_extent *slab = HEW_CONTAINER(node, struct hew_extent, slab.node);
        bool placed = node->key == slab->address && node->key > above && hew_map_extent(slab->address) == slab;
        if (!placed || !slab->slab.queued || slab->slab.free_regions == 0 || !hew_slab_valid(slab) ||
            !nonfull_valid(node->child, node->key, count)) {
            return false;
        }
    }
    return true;
}

bool
hew_bin_valid(const struct hew_bin *bin)
{
    size_t count = 0;
    if (bin->current != NULL && (bin->current->slab.queued || !hew_slab_valid(bin->current))) {
        return false;
    }
    return nonfull_valid(bin->nonfull.root, 0, &count) && count == bin->counts.nonfull &&
           count + (bin->current != NULL) <= bin->counts.slabs;
}

bool
hew_bin_valid_if_due(const struct hew_bin *bin)
{
    return !hew_check_may_walk(STEPS_A_SLAB * (bin->counts.nonfull + 1)) || hew_bin_valid(bin);
}

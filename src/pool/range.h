/* SPDX-License-Identifier: MIT */
/*
 * range: memory of a pool set, and how to find it from an address.
 *
 * Owns      the set's entries in the address maps: code HEW_CODE_POOL for each granule, an extent for each page.
 * Locks     none of its own; the creating thread owns a range until its objects are published.
 */
#ifndef HEW_POOL_RANGE_H
#define HEW_POOL_RANGE_H

#include "meta/map.h"
#include "pool/set.h"

/* Maps memory from the set's source or the first arena, and enters it in the maps.  NULL: no memory, or the source
 * returned an invalid range. */
struct hew_pool_range *hew_pool_range_take(struct hew_pool_set *set, size_t size, struct hew_pool_block *block);

/* Returns the memory to its source. */
void hew_pool_range_give(struct hew_pool_set *set, struct hew_pool_range *range);

/* The range that contains `address`.  NULL: no pool does. */
HEW_INLINE struct hew_pool_range *
hew_pool_range_of(uintptr_t address)
{
    if (address >> HEW_LG_ADDRESS != 0 || hew_map_code(address) != HEW_CODE_POOL) {
        return NULL;
    }
    struct hew_pool_range *range = hew_map_extent(address)->large.pool;
    return HEW_LIKELY(range->set != NULL) ? range : NULL;
}

/* The block that contains `address`, which must be in `range`.  NULL: no object's place. */
HEW_INLINE struct hew_pool_block *
hew_pool_range_block(const struct hew_pool_range *range, uintptr_t address)
{
    const struct hew_pool_set *set = range->set;
    struct hew_pool_block *block = range->block;
    return block != NULL ? block : set->classes[set->grains[(address - range->address) >> HEW_LG_GRAIN]].fixed;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * range: memory of a pool set, and the way from any address to it.
 *
 * Owns      what the address maps say of a set's memory: code HEW_CODE_POOL for each grain, an extent for each page.
 * Locks     none of its own; a range belongs to whoever makes it, until its objects are handed out.
 */
#ifndef HEW_POOL_RANGE_H
#define HEW_POOL_RANGE_H

#include "meta/map.h"
#include "pool/set.h"

/* Memory from the set's source, or of the first arena, in the maps.  NULL: no memory, or the source gave what cannot be. */
struct hew_pool_range *hew_pool_range_take(struct hew_pool_set *set, size_t size, struct hew_pool_block *block);

/* The memory goes back to where it came from. */
void hew_pool_range_give(struct hew_pool_set *set, struct hew_pool_range *range);

/* The range that `address` is in; NULL: it is no pool's. */
HEW_INLINE struct hew_pool_range *
hew_pool_range_of(uintptr_t address)
{
    if (address >> HEW_LG_ADDRESS != 0 || hew_map_code(address) != HEW_CODE_POOL) {
        return NULL;
    }
    struct hew_pool_range *range = hew_map_extent(address)->large.pool;
    return HEW_LIKELY(range->set != NULL) ? range : NULL;
}

/* The block of the set that `address` lies in; NULL: it is not this set's, or in no object's place. */
HEW_INLINE struct hew_pool_block *
hew_pool_range_block(const struct hew_pool_range *range, uintptr_t address)
{
    const struct hew_pool_set *set = range->set;
    struct hew_pool_block *block = range->block;
    return block != NULL ? block : set->classes[set->grains[(address - range->address) >> HEW_LG_GRAIN]].fixed;
}

#endif

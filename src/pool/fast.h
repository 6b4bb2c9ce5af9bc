/* SPDX-License-Identifier: MIT */
/*
 * fast: a pool's malloc and free where the thread has what it takes at hand.  No loop, no lock, no atomic read-modify-write.
 * What they leave over: serve.h.
 */
#ifndef HEW_POOL_FAST_H
#define HEW_POOL_FAST_H

#include "pool/local.h"

/* NULL: take the slow path. */
HEW_INLINE void *
hew_pool_fast_take(const struct hew_pool_set *set, size_t size)
{
    const struct hew_pool_lookup *lookup = &set->lookup;
    if (HEW_UNLIKELY(size >= lookup->direct_end)) {
        return NULL;
    }
    size_t number = lookup->entries[(size + lookup->round) >> lookup->shift];
    return hew_pool_local_pop(&hew_pool_self->at[set->id]->magazines[number]);
}

/* An object of a fixed group.  False: take the slow path. */
HEW_INLINE bool
hew_pool_fast_give(const struct hew_pool_set *set, void *object)
{
    uintptr_t offset = (uintptr_t)object - set->base;
    if (HEW_UNLIKELY(offset >= set->span)) {
        return false;
    }
    return hew_pool_local_push(&hew_pool_self->at[set->id]->magazines[set->grains[offset >> HEW_LG_GRAIN]], object);
}

#endif

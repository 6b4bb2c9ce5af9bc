/* SPDX-License-Identifier: MIT */
/*
 * fast: the fast paths of a pool's malloc and free, served from the thread's magazines.  No loop, no lock, no atomic
 * read-modify-write.  The slow paths are in serve.h.
 */
#ifndef HEW_POOL_FAST_H
#define HEW_POOL_FAST_H

#include "alloc/fast.h"
#include "pool/local.h"
#include "pool/range.h"

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

/* Returns true, and counts the request, if malloc serves it because it is larger than every size of the set. */
HEW_INLINE bool
hew_pool_fast_passes(const struct hew_pool_set *set, size_t size)
{
    if (size <= set->malloc_from - 1) { /* if malloc_from is 0, it wraps to the maximum */
        return false;
    }
    struct hew_pool_local *local = hew_pool_self->at[set->id];
    if (HEW_UNLIKELY(local->set == NULL)) {
        return false;
    }
    hew_pool_local_count(&local->larger);
    return true;
}

/* Whether malloc allocated this object, which is not in a fixed group: the set uses malloc instead of a fallback. */
HEW_INLINE bool
hew_pool_fast_is_mallocs(const struct hew_pool_set *set, const void *object)
{
    size_t code = hew_map_code((uintptr_t)object);
    return set->malloc_from != 0 && code != HEW_CODE_NONE && code != HEW_CODE_POOL;
}

/* Frees an object of a fixed group.  False: take the slow path, which also aborts on an address inside an object. */
HEW_INLINE bool
hew_pool_fast_give(const struct hew_pool_set *set, void *object)
{
    uintptr_t offset = (uintptr_t)object - set->base;
    if (HEW_UNLIKELY(offset >= set->span)) {
        return false;
    }
    struct hew_pool_magazine *magazine = &hew_pool_self->at[set->id]->magazines[set->grains[offset >> HEW_LG_GRAIN]];
    return HEW_LIKELY(hew_pool_local_may_be(magazine, object)) && hew_pool_local_push(magazine, object);
}

/* Frees an object of a dynamic pool, which it finds through the address maps. */
HEW_INLINE bool
hew_pool_fast_give_dynamic(const struct hew_pool_set *set, void *object)
{
    const struct hew_pool_range *range = hew_pool_range_of((uintptr_t)object);
    if (HEW_UNLIKELY(range == NULL) || HEW_UNLIKELY(range->set != set)) {
        return false;
    }
    bool may_be = ((uintptr_t)object - range->address) * range->reciprocal < range->reciprocal;
    return HEW_LIKELY(may_be) && hew_pool_local_push(&hew_pool_self->at[set->id]->magazines[range->number], object);
}

#endif

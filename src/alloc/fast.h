/* SPDX-License-Identifier: MIT */
/*
 * fast: the fast paths of malloc and free, inlined into everything that allocates or frees.  No loop, no lock, no atomic
 * read-modify-write.  What they leave over: hew_alloc_slow() and hew_alloc_free().
 */
#ifndef HEW_ALLOC_FAST_H
#define HEW_ALLOC_FAST_H

#include "cache/cache.h"
#include "slab/large.h"

/* The whole of malloc for a small size: the newest object of this thread's magazine.  NULL: take the slow path. */
HEW_INLINE void *
hew_fast_take(size_t size)
{
    return HEW_LIKELY(hew_size_is_small(size)) ? hew_cache_pop(hew_cache_self, hew_small_code(size)) : NULL;
}

/* The same at an alignment, a power of two.  Of the usual classes that of a multiple of it is one, too: classes that lie as close
 * as the alignment or closer end at each multiple, the others are multiples of what lies between them.  So this is the smallest
 * class that serves, the one of hew_aligned_code().  A program's own classes need not be so: NULL. */
HEW_INLINE void *
hew_fast_take_aligned(size_t size, size_t alignment)
{
    size_t whole = hew_bits_round_up(size, alignment);
    bool small = HEW_LIKELY(whole != 0) && HEW_LIKELY(hew_size_is_small_aligned(whole));
    return small ? hew_cache_pop(hew_cache_self, hew_small_code(whole)) : NULL;
}

/* The same for a large class. */
HEW_INLINE void *
hew_fast_take_class(struct hew_cache *cache, unsigned code)
{
    void *object = hew_cache_pop(cache, code);
    return object != NULL ? hew_large_of_magazine(object, code) : NULL;
}

/* The same for a large size up to HEW_LARGE_CODES_MAX; a small one gets NULL. */
HEW_INLINE void *
hew_fast_take_large(size_t size)
{
    return hew_size_is_coded_large(size) ? hew_fast_take_class(hew_cache_self, hew_paged_code(size)) : NULL;
}

/*
 * The whole of free for a cached class: one byte tells the class, whoever owns the object.  False: take the slow path.
 */
HEW_INLINE bool
hew_fast_give(void *object)
{
    return hew_cache_push(hew_cache_self, hew_map_code((uintptr_t)object), object);
}

/* The same for a caller that says the size; false also when it said the wrong one. */
HEW_INLINE bool
hew_fast_give_sized(void *object, size_t size)
{
    size_t code = hew_map_code((uintptr_t)object);
    return HEW_LIKELY(size < hew_small_end) && HEW_LIKELY(hew_small_code(size) == (uint8_t)code) &&
           hew_cache_push(hew_cache_self, code, object);
}

/* The same for large sizes. */
HEW_INLINE bool
hew_fast_give_sized_large(void *object, size_t size)
{
    size_t code = hew_map_code((uintptr_t)object);
    return size > HEW_SMALL_MAX && size < hew_large_end && hew_paged_code(size) == code &&
           hew_cache_push(hew_cache_self, code, object);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * fast: the fast paths of malloc and free, inlined into every function that allocates or frees.  They have no loop, no
 * lock and no atomic read-modify-write.  hew_alloc_slow() and hew_alloc_free() handle all other cases.
 */
#ifndef HEW_ALLOC_FAST_H
#define HEW_ALLOC_FAST_H

#include "cache/cache.h"
#include "slab/large.h"

/* Allocates a small object: pops the newest object of this thread's magazine.  NULL: take the slow path. */
HEW_INLINE void *
hew_fast_take(size_t size)
{
    return HEW_LIKELY(hew_size_is_small(size)) ? hew_cache_pop(hew_cache_self, hew_small_code(size)) : NULL;
}

/* Like hew_fast_take(), with a power-of-two alignment.  Rounding the size up to a multiple of the alignment leads to
 * the class that hew_aligned_code() finds.  Where usual classes are spaced no wider than the alignment, one ends at
 * each multiple of it.  Where they are spaced wider, each size is a multiple of the spacing, and so of the alignment.
 * A fine class that was cut to a size need not follow this rule, nor a program's own classes: then NULL. */
HEW_INLINE void *
hew_fast_take_aligned(size_t size, size_t alignment)
{
    size_t whole = hew_bits_round_up(size, alignment);
    if (HEW_UNLIKELY(whole == 0) || HEW_UNLIKELY(!hew_size_is_small_aligned(whole))) {
        return NULL;
    }
    unsigned code = hew_small_code(whole);
    bool aligned = HEW_LIKELY((hew_code_size(code) & (alignment - 1)) == 0);
    return aligned ? hew_cache_pop(hew_cache_self, code) : NULL;
}

/* Like hew_fast_take(), for a large class. */
HEW_INLINE void *
hew_fast_take_class(struct hew_cache *cache, unsigned code)
{
    void *object = hew_cache_pop(cache, code);
    return object != NULL ? hew_large_of_magazine(object, code) : NULL;
}

/* Like hew_fast_take(), for a large size up to HEW_LARGE_CODES_MAX.  NULL for a small size. */
HEW_INLINE void *
hew_fast_take_large(size_t size)
{
    return hew_size_is_coded_large(size) ? hew_fast_take_class(hew_cache_self, hew_paged_code(size)) : NULL;
}

/*
 * Frees an object of a cached class.  One byte of the address map gives the class, no matter which heap owns the
 * object.  False: take the slow path.
 */
HEW_INLINE bool
hew_fast_give(void *object)
{
    return hew_cache_push(hew_cache_self, hew_map_code((uintptr_t)object), object);
}

/* Like hew_fast_give(), for a caller that passes the size.  Also returns false if the size is wrong. */
HEW_INLINE bool
hew_fast_give_sized(void *object, size_t size)
{
    size_t code = hew_map_code((uintptr_t)object);
    return HEW_LIKELY(size < hew_small_end) && HEW_LIKELY(hew_small_code(size) == (uint8_t)code) &&
           hew_cache_push(hew_cache_self, code, object);
}

/* Like hew_fast_give_sized(), for large sizes. */
HEW_INLINE bool
hew_fast_give_sized_large(void *object, size_t size)
{
    size_t code = hew_map_code((uintptr_t)object);
    return size > HEW_SMALL_MAX && size < hew_large_end && hew_paged_code(size) == code &&
           hew_cache_push(hew_cache_self, code, object);
}

#endif

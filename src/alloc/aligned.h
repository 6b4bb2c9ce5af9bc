/* SPDX-License-Identifier: MIT */
/*
 * aligned: the class that a request at an alignment gets.
 */
#ifndef HEW_ALLOC_ALIGNED_H
#define HEW_ALLOC_ALIGNED_H

#include "slab/large.h"

/* The first small class from `code` on whose objects are aligned; HEW_CODE_NONE: there is none. */
HEW_INLINE unsigned
hew_aligned_from(unsigned code, size_t alignment)
{
    /* Slabs begin at a grain, so a region is aligned to every power of two, up to a grain, that divides its size.  A fine
     * class is never the answer for a coarse one: it is aligned to less.  What repeats the last class of a program's own is never
     * one either. */
    while (code <= HEW_CODE_SMALL_LAST && (hew_code_size(code) & (alignment - 1)) != 0) {
        code++;
    }
    return code <= HEW_CODE_SMALL_LAST ? code : HEW_CODE_NONE;
}

/* The small class of a request at a power-of-two alignment; HEW_CODE_NONE: it is a large one. */
HEW_INLINE unsigned
hew_aligned_code(size_t size, size_t alignment)
{
    return size > HEW_SMALL_MAX ? HEW_CODE_NONE : hew_aligned_from(hew_small_code(size), alignment);
}

/* Usable bytes of such a request. */
HEW_INLINE size_t
hew_aligned_usable(size_t size, size_t alignment)
{
    unsigned code = hew_aligned_code(size, alignment);
    return code != HEW_CODE_NONE ? hew_code_size(code)
                                 : hew_large_usable(size > HEW_SMALL_MAX ? size : HEW_SMALL_MAX + 1);
}

/* Whether an object of `usable` bytes can be such a request's: it may be older than its fine class is open. */
HEW_INLINE bool
hew_aligned_is_usable(size_t usable, size_t size, size_t alignment)
{
    unsigned fine = hew_code_of_size(size);
    unsigned coarse = hew_code_is_fine(fine) ? hew_aligned_from(fine + 1, alignment) : HEW_CODE_NONE;
    return usable == hew_aligned_usable(size, alignment) ||
           (coarse != HEW_CODE_NONE && usable == hew_code_size(coarse));
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * aligned: the class that a request at an alignment gets.
 */
#ifndef HEW_ALLOC_ALIGNED_H
#define HEW_ALLOC_ALIGNED_H

#include "slab/large.h"

/* The small class of a request at a power-of-two alignment; HEW_CODE_NONE: it is a large one. */
HEW_INLINE unsigned
hew_aligned_code(size_t size, size_t alignment)
{
    if (size > HEW_SMALL_MAX) {
        return HEW_CODE_NONE;
    }
    /* Slabs begin at a grain, so a region is aligned to every power of two, up to a grain, that divides its size. */
    unsigned code = hew_code_of_size(size);
    while (code <= HEW_CODE_SMALL_LAST && (hew_code_size(code) & (alignment - 1)) != 0) {
        code++;
    }
    return code <= HEW_CODE_SMALL_LAST ? code : HEW_CODE_NONE;
}

/* Usable bytes of such a request. */
HEW_INLINE size_t
hew_aligned_usable(size_t size, size_t alignment)
{
    unsigned code = hew_aligned_code(size, alignment);
    return code != HEW_CODE_NONE ? hew_code_size(code)
                                 : hew_large_usable(size > HEW_SMALL_MAX ? size : HEW_SMALL_MAX + 1);
}

#endif

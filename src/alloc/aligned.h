/* SPDX-License-Identifier: MIT */
/*
 * aligned: finds the size class for a request with an alignment.
 */
#ifndef HEW_ALLOC_ALIGNED_H
#define HEW_ALLOC_ALIGNED_H

#include "slab/large.h"

/* Returns the first small class, starting at `code`, whose objects have the alignment.  HEW_CODE_NONE: there is
 * none. */
HEW_INLINE unsigned
hew_aligned_from(unsigned code, size_t alignment)
{
    /* Slabs begin at a granule, so an object is aligned to every power of two, up to a granule, that divides its size.
     * A fine class is never returned where a coarse one is needed: its alignment is smaller.  The codes that repeat the
     * last class of a program's own classes are never returned either. */
    while (code <= HEW_CODE_SMALL_LAST && (hew_code_size(code) & (alignment - 1)) != 0) {
        code++;
    }
    return code <= HEW_CODE_SMALL_LAST ? code : HEW_CODE_NONE;
}

/* Returns the small class of a request with a power-of-two alignment.  HEW_CODE_NONE: the request needs a large
 * object. */
HEW_INLINE unsigned
hew_aligned_code(size_t size, size_t alignment)
{
    return size > HEW_SMALL_MAX ? HEW_CODE_NONE : hew_aligned_from(hew_small_code(size), alignment);
}

/* Returns the usable bytes of such a request. */
HEW_INLINE size_t
hew_aligned_usable(size_t size, size_t alignment)
{
    unsigned code = hew_aligned_code(size, alignment);
    return code != HEW_CODE_NONE ? hew_code_size(code)
                                 : hew_large_usable(size > HEW_SMALL_MAX ? size : HEW_SMALL_MAX + 1);
}

/* Returns whether an object of `usable` bytes can belong to such a request.  The object may date from before its fine
 * class was opened; then it has the size of the coarse class. */
HEW_INLINE bool
hew_aligned_is_usable(size_t usable, size_t size, size_t alignment)
{
    unsigned fine = hew_code_of_size(size);
    unsigned coarse = hew_code_is_fine(fine) ? hew_aligned_from(fine + 1, alignment) : HEW_CODE_NONE;
    return usable == hew_aligned_usable(size, alignment) ||
           (coarse != HEW_CODE_NONE && usable == hew_code_size(coarse));
}

#endif

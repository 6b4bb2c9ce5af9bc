/* SPDX-License-Identifier: MIT */
/*
 * large: the class code and the extent that a request gets, large or aligned.
 */
#ifndef HEW_ALLOC_LARGE_H
#define HEW_ALLOC_LARGE_H

#include "base/options.h"
#include "slab/arena.h"

#define HEW_CLASSED_MAX ((size_t)1 << 20)

/* Up to 1 MiB, or tcache_max where that is more, extents have their class's size, so that any of them serves any request
 * of the class, though a program may use only the whole pages it asked for.  Above, extents are as large as asked. */
HEW_INLINE unsigned
hew_large_code(size_t size)
{
    return size > HEW_CLASSED_MAX && size > hew_options.tcache_max ? HEW_CODE_SLOW : hew_code_of_size(size);
}

HEW_INLINE size_t
hew_large_extent_size(unsigned code, size_t size)
{
    return code == HEW_CODE_SLOW ? hew_large_usable(size) : hew_code_size(code);
}

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

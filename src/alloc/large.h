/* SPDX-License-Identifier: MIT */
/*
 * large: the code that a large request gets.
 */
#ifndef HEW_ALLOC_LARGE_H
#define HEW_ALLOC_LARGE_H

#include "base/options.h"
#include "base/size_class.h"

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
    return code == HEW_CODE_SLOW ? hew_bits_round_up(size, HEW_PAGE) : hew_code_size(code);
}

#endif

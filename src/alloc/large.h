/* SPDX-License-Identifier: MIT */
/*
 * large: the code that a large request gets.
 */
#ifndef HEW_ALLOC_LARGE_H
#define HEW_ALLOC_LARGE_H

#include "base/size_class.h"

/* Cached classes up to 1 MiB: their extents have the class's size, so that any of them serves any request of the class,
 * though a program may use only the whole pages it asked for.  Above, extents are as large as asked. */
HEW_INLINE unsigned
hew_large_code(size_t size)
{
    return size > HEW_CODE_CACHED_MAX_SIZE ? HEW_CODE_SLOW : hew_code_of_size(size);
}

HEW_INLINE size_t
hew_large_extent_size(unsigned code, size_t size)
{
    return code == HEW_CODE_SLOW ? hew_bits_round_up(size, HEW_PAGE) : hew_code_size(code);
}

#endif

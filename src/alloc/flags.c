/* SPDX-License-Identifier: MIT */
#include "alloc/flags.h"

#include "alloc/alloc.h"
#include "alloc/fill.h"
#include "alloc/large.h"
#include "alloc/realloc.h"
#include "cache/explicit.h"
#include "cache/magazine.h"
#include "cache/route.h"

#include <string.h>

static size_t
alignment_of(int flags)
{
    return (size_t)1 << (flags & HEW_FLAGS_LG_ALIGN);
}

void *
hew_flags_alloc(size_t size, int flags)
{
    return hew_alloc_aligned(size == 0 ? 1 : size, alignment_of(flags), (flags & HEW_FLAGS_ZERO) != 0);
}

void *
hew_flags_realloc(void *object, size_t size, int flags)
{
    return hew_realloc_object(object, size == 0 ? 1 : size);
}

size_t
hew_flags_resize(void *object, size_t size, size_t extra, int flags)
{
    return hew_alloc_usable("xallocx", object);
}

void
hew_flags_free(const char *function, void *object, int flags)
{
    hew_alloc_free(function, object);
}

size_t
hew_flags_usable(size_t size, int flags)
{
    size_t alignment = alignment_of(flags);
    if (size > HEW_LARGE_MAX || alignment > HEW_LARGE_MAX) {
        return 0;
    }
    unsigned code = hew_alloc_aligned_code(size, alignment);
    return code != 0 ? hew_code_size(code) : hew_bits_round_up(size > HEW_SMALL_MAX ? size : HEW_SMALL_MAX + 1, HEW_PAGE);
}

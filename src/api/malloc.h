/* SPDX-License-Identifier: MIT */
/*
 * malloc: code that the exported functions share.
 */
#ifndef HEW_API_MALLOC_H
#define HEW_API_MALLOC_H

#include "alloc/alloc.h"
#include "alloc/fast.h"

#include <string.h>

/* Ends a failed request of `function`: sets errno, or ends the process.  Returns NULL. */
void *hew_out_of_memory(const char *function);

/* The slow path of malloc; sets errno. */
void *hew_malloc_slow(size_t size);

HEW_INLINE void *
hew_entry_malloc(size_t size)
{
    void *object = hew_fast_take(size);
    return HEW_LIKELY(object != NULL) ? object : hew_malloc_slow(size);
}

HEW_INLINE void *
hew_entry_calloc(size_t size)
{
    if (HEW_UNLIKELY(size > HEW_SMALL_MAX)) {
        void *large = hew_alloc_large(size, true);
        return HEW_LIKELY(large != NULL) ? large : hew_out_of_memory("calloc");
    }
    void *object = hew_entry_malloc(size);
    return HEW_LIKELY(object != NULL) ? memset(object, 0, size) : NULL;
}

#endif

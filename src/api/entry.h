/* SPDX-License-Identifier: MIT */
/*
 * entry: what the exported functions share.
 */
#ifndef HEW_API_ENTRY_H
#define HEW_API_ENTRY_H

#include "alloc/fast.h"

/* The end of every failed request of `function`: errno, or the end of the process.  Returns NULL. */
void *hew_out_of_memory(const char *function);

/* malloc without its fast path; sets errno. */
void *hew_malloc_slow(size_t size);

HEW_INLINE void *
hew_entry_malloc(size_t size)
{
    void *object = hew_fast_take(size);
    return HEW_LIKELY(object != NULL) ? object : hew_malloc_slow(size);
}

#endif

/* SPDX-License-Identifier: MIT */
/* layers_cache: what all threads' caches hold together. */
#ifndef HEW_TESTS_LAYERS_CACHE_H
#define HEW_TESTS_LAYERS_CACHE_H

#include "cache/count.h"
#include "cache/thread.h"

static inline void
layers_add_cached(const struct hew_cache *cache, void *bytes)
{
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        *(size_t *)bytes += hew_count_depth(cache, code) * hew_code_size(code);
    }
}

/* Bytes of the classes of all objects in magazines. */
static inline size_t
layers_cached_bytes(void)
{
    size_t bytes = 0;
    hew_thread_each(layers_add_cached, &bytes);
    return bytes;
}

#endif

/* SPDX-License-Identifier: MIT */
/* layers_cache: what all threads' own slots hold together; and a thread in the role of another one. */
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

/* Bytes of all objects in threads' own slots. */
static inline size_t
layers_cached_bytes(void)
{
    size_t bytes = 0;
    hew_thread_each(layers_add_cached, &bytes);
    return bytes;
}

/* The calling thread goes on with this cache and its slot. */
static inline void
layers_become(struct hew_cache *cache)
{
    hew_home = (struct hew_home){cache, cache->where};
}

#endif

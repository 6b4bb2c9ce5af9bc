/* SPDX-License-Identifier: MIT */
/*
 * entry: the fast paths, inlined into every exported function that allocates or frees.
 */
#ifndef HEW_API_ENTRY_H
#define HEW_API_ENTRY_H

#include "cache/cache.h"

/* What the fast path leaves over; they set errno. */
void *hew_malloc_small_slow(size_t size);
void *hew_malloc_rest(size_t size);

/*
 * The whole of malloc for a small size: the newest object of this thread's magazine.
 */
HEW_INLINE void *
hew_entry_malloc(size_t size)
{
    if (HEW_UNLIKELY(size >= hew_small_end)) {
        return hew_malloc_rest(size);
    }
    size_t code = hew_small_codes[(size + 7) >> 3];
    void *object = hew_cache_pop(hew_cache_self, code);
    return HEW_LIKELY(object != NULL) ? object : hew_malloc_small_slow(size);
}

/*
 * The whole of free for a cached class: one byte tells the class, whoever owns the object.  False: take the slow path.
 */
HEW_INLINE bool
hew_entry_free(void *object)
{
    return hew_cache_push(hew_cache_self, hew_map_code((uintptr_t)object), object);
}

/* The same for a caller that says the size; false also when it said the wrong one. */
HEW_INLINE bool
hew_entry_free_sized(void *object, size_t size)
{
    size_t code = hew_map_code((uintptr_t)object);
    return HEW_LIKELY(size < hew_small_end) && HEW_LIKELY(hew_small_codes[(size + 7) >> 3] == code) &&
        hew_cache_push(hew_cache_self, code, object);
}

#endif

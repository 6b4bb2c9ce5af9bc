/* SPDX-License-Identifier: MIT */
/*
 * count: what a thread has asked for and freed, told from what its cache holds and what passed by it.
 *
 * Promises  exact for the owning thread; a few operations late for others; never a whole period wrong.
 */
#ifndef HEW_CACHE_COUNT_H
#define HEW_CACHE_COUNT_H

#include "cache/cache.h"

/* Allocations of a class; any thread may ask, under hew_caches_lock. */
uint64_t hew_count_requests(const struct hew_cache *cache, unsigned code);

/* Objects in the magazine of a class; any thread may ask, under hew_caches_lock. */
size_t hew_count_depth(const struct hew_cache *cache, unsigned code);

/* Usable bytes of these objects. */
size_t hew_count_held(const struct hew_cache *cache, unsigned code);

/* With hardening:full: bytes of free objects that the thread keeps outside the magazines, likewise. */
HEW_INLINE size_t
hew_count_apart(const struct hew_cache *cache)
{
    return __atomic_load_n(&cache->apart, __ATOMIC_RELAXED);
}

/* Bytes that the thread has ever allocated and freed, in usable sizes.  Only the owning thread. */
uint64_t hew_count_allocated(const struct hew_cache *cache);
uint64_t hew_count_freed(const struct hew_cache *cache);

/* The class's requests and frees begin at nothing, for those who count them; the bytes that the thread has allocated and freed stay.  Only
 * the owning thread, under hew_caches_lock. */
void hew_count_forget(struct hew_cache *cache, unsigned code);

/* HEW_DUE_BYTES comes at least each time a thread has allocated `bytes` from now on; several may ask. */
void hew_count_watch(size_t bytes);

/* Bytes that the thread has allocated since this was last asked; only the owning thread, when HEW_DUE_BYTES has come. */
uint64_t hew_count_passed(struct hew_cache *cache);

/* The most bytes that the calling thread has held since it began to measure, from zero; who has never begun begins with the first
 * reading, with all that it holds.  A rise of up to 64 KiB between two looks may be missed. */
void hew_count_peak_begin(const struct hew_cache *cache);
uint64_t hew_count_peak_read(const struct hew_cache *cache);

/* Looks again; for hew_upcalls.attend when HEW_DUE_BYTES has come. */
void hew_count_peak_look(const struct hew_cache *cache);

/* An object of large or unusual size has been handed out by, or come back to, the thread of `cache` (NULL: none). */
HEW_INLINE void
hew_count_other_allocated(struct hew_cache *cache, size_t bytes)
{
    if (cache != NULL) {
        cache->other_allocated += bytes;
        cache->until_sample -= (int64_t)bytes;
    }
}

HEW_INLINE void
hew_count_other_freed(struct hew_cache *cache, size_t bytes)
{
    if (cache != NULL) {
        cache->other_freed += bytes;
    }
}

/* Every operation of a thread with live counters says so here. */
HEW_INLINE void
hew_count_operation(struct hew_cache *cache, size_t allocated, size_t freed)
{
    if (HEW_UNLIKELY(cache != NULL && cache->live != NULL)) {
        __atomic_store_n(&cache->live->allocated, cache->live->allocated + allocated, __ATOMIC_RELAXED);
        __atomic_store_n(&cache->live->freed, cache->live->freed + freed, __ATOMIC_RELAXED);
    }
}

#endif

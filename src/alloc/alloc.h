/* SPDX-License-Identifier: MIT */
/*
 * alloc: what malloc means: the rare half of every entry point, behind the fast paths of cache/cache.h.  Requests stand in request.c,
 * frees and questions about an object in free.c.
 *
 * Promises  NULL means out of memory; errno is never touched (api/ sets it).  Thread-safe.
 * Not here  exported names: api/.  Realloc's rules: realloc.h.
 */
#ifndef HEW_ALLOC_ALLOC_H
#define HEW_ALLOC_ALLOC_H

#include "alloc/fill.h"
#include "alloc/upcalls.h"

/* Whether a pool set has to do with it, which knows all else. */
HEW_INLINE bool
hew_alloc_is_of_pool(const void *object)
{
    return hew_map_code((uintptr_t)object) == HEW_CODE_POOL;
}

/* Whether a thread's cache serves it, and nothing has to be done to what it gets or frees. */
HEW_INLINE bool
hew_alloc_is_usual(const struct hew_cache *cache)
{
    return hew_cache_is_plain(cache) && HEW_LIKELY(!hew_fill_wanted());
}

/* The profiler, where it knows the object, hears of its end. */
HEW_INLINE void
hew_alloc_forget_sample(struct hew_extent *extent)
{
    if (HEW_UNLIKELY(extent->large.sample != NULL)) {
        hew_upcalls.sample_freed(extent);
        extent->large.sample = NULL;
    }
}

/* An extent that stands for a small object of `code`, with what the profiler knows of it.  NULL without memory. */
struct hew_extent *hew_alloc_sampled(struct hew_arena *arena, unsigned code, void *sample);

/* A large object is known as `sample` to the profiler from now on. */
void hew_alloc_mark_sampled(struct hew_extent *large, void *sample);

/* A request of up to HEW_SMALL_MAX bytes that the fast path did not serve.  By size, not by code: the first call of all
 * comes before the table of codes is filled. */
void *hew_alloc_small(size_t size);

/* A request above HEW_SMALL_MAX bytes.  `zero`: the memory reads as zeros. */
void *hew_alloc_large(size_t size, bool zero);

/* A request of any size that the fast path did not serve. */
void *hew_alloc_slow(size_t size);

/* Any size at a power-of-two alignment. */
void *hew_alloc_aligned(size_t size, size_t alignment, bool zero);

/* A free that the fast path did not take; `function` is what the program called.  NULL is nothing. */
void hew_alloc_free(const char *function, void *object);

/* The same past the thread's own cache: into an explicit one, or, NULL, straight to its owner. */
void hew_alloc_free_into(const char *function, void *object, struct hew_cache *explicit);

/* Ends the process when `object`, not NULL and known to be ours, lies free in the thread's own magazine.  Of a small class
 * only the newest is looked at. */
void hew_alloc_check_kept(const char *function, const void *object);

/* True when `object` is live and was asked for with `size` (at `alignment`, 0: as malloc does).  Else a misuse: when a hook lets
 * the process go on, the object is to be left alone. */
bool hew_alloc_is_sized(const char *function, void *object, size_t size, size_t alignment);

/* Bytes that may be used; 0 for NULL.  Ends the process, in the name of `function`, when it is not ours. */
size_t hew_alloc_usable(const char *function, const void *object);

#endif

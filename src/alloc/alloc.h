/* SPDX-License-Identifier: MIT */
/*
 * alloc: the slow path of every entry point, behind the fast paths of cache/cache.h.  request.c handles allocation;
 * free.c handles frees and queries about an object.
 *
 * Promises  NULL means out of memory.  errno is never touched: api/ sets it.  Thread-safe.
 * Not here  Exported names: api/. The rules of realloc: realloc.h.
 */
#ifndef HEW_ALLOC_ALLOC_H
#define HEW_ALLOC_ALLOC_H

#include "alloc/fill.h"
#include "alloc/upcalls.h"

/* True for an object of a pool set, and for a guarded one.  Higher layers know everything else about it. */
HEW_INLINE bool
hew_alloc_is_apart(const void *object)
{
    unsigned code = hew_map_code((uintptr_t)object);
    return code == HEW_CODE_POOL || code == HEW_CODE_GUARD;
}

/* True if the thread's cache serves the request and neither junk nor zero filling is set. */
HEW_INLINE bool
hew_alloc_is_usual(const struct hew_cache *cache)
{
    return hew_cache_is_plain(cache) && HEW_LIKELY(!hew_fill_wanted());
}

/* Tells the profiler that a sampled object ends. */
HEW_INLINE void
hew_alloc_forget_sample(struct hew_extent *extent)
{
    if (HEW_UNLIKELY(extent->large.sample != NULL)) {
        hew_upcalls.sample_freed(extent);
        extent->large.sample = NULL;
    }
}

/* Allocates an extent that stands in for a small object of `code`, and records the profiler's `sample` in it.  NULL:
 * out of memory. */
struct hew_extent *hew_alloc_sampled(struct hew_arena *arena, unsigned code, void *sample);

/* Records the profiler's `sample` in a large object. */
void hew_alloc_mark_sampled(struct hew_extent *large, void *sample);

/* Serves a request of up to HEW_SMALL_MAX bytes that the fast path did not serve.  Takes the size, not the code: the
 * first call runs before the table of codes is filled. */
void *hew_alloc_small(size_t size);

/* Serves a request above HEW_SMALL_MAX bytes.  `zero`: the memory reads as zeros. */
void *hew_alloc_large(size_t size, bool zero);

/* Serves a request of any size that the fast path did not serve. */
void *hew_alloc_slow(size_t size);

/* Serves a request of any size with a power-of-two alignment. */
void *hew_alloc_aligned(size_t size, size_t alignment, bool zero);

/* Frees an object that the fast path did not take.  `function` is the function that the program called.  Does nothing
 * for NULL. */
void hew_alloc_free(const char *function, void *object);

/* Frees an object without the thread's own cache: into `explicit`, or, if that is NULL, directly to the owner. */
void hew_alloc_free_into(const char *function, void *object, struct hew_cache *explicit);

/* Ends the process if `object`, which is hew's and not NULL, is free in the thread's own magazine.  For a small class
 * it checks only the newest object. */
void hew_alloc_check_kept(const char *function, const void *object);

/* Returns true if `object` is live and was requested with `size` and `alignment` (0: as malloc aligns).  Otherwise it
 * reports misuse.  If a hook lets the process continue, the caller must not touch the object. */
bool hew_alloc_is_sized(const char *function, void *object, size_t size, size_t alignment);

/* Returns the usable bytes; 0 for NULL.  Ends the process, naming `function`, if the object is not hew's. */
size_t hew_alloc_usable(const char *function, const void *object);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * request: serves one request from a given source.
 *
 * Promises  Counts each object, lets the profiler replace it, and asks the system for memory only if nothing else is
 *           left.  If the system refuses, it returns all free memory to the system and retries once.  NULL: out of
 *           memory.  Thread-safe, except with an explicit cache.
 * Not here  The choice of the source: alloc.h for malloc, flags.c for mallocx.
 */
#ifndef HEW_ALLOC_REQUEST_H
#define HEW_ALLOC_REQUEST_H

#include "alloc/alloc.h"

/* The source of a request. */
struct hew_source {
    struct hew_cache *own;   /* the calling thread's, which counts its requests; NULL: it has none */
    struct hew_cache *cache; /* the cache that serves: the thread's own, an explicit one, or NULL: none */
    struct hew_arena *arena; /* serves all other objects */
};

/* Returns the thread's own source.  Its arena is NULL if memory is out. */
struct hew_source hew_request_own(void);

/*
 * The system refused memory.  Returns everything free in every arena to the system, address space included, after the
 * calling thread's cached objects have been flushed.
 */
void hew_request_relieve(void);

/* Allocates an object of class `code` for a request of `size` bytes. */
void *hew_request_class(const struct hew_source *source, unsigned code, size_t size);

/* Completes a request for which the caller has already asked the source: `object`, or NULL if there was none. */
void *hew_request_finish(const struct hew_source *source, unsigned code, size_t size, void *object);

/* Allocates a large object above HEW_LARGE_CODES_MAX bytes in the usual case: from the thread's magazine if tcache_max
 * is that large, otherwise one of that size that was recently freed to the thread's arena.  NULL: there is none, or the
 * case is unusual. */
void *hew_request_reuse(size_t size);

/* Serves any size with any alignment.  `zero`: the whole object reads as zeros. */
void *hew_request(const struct hew_source *source, size_t size, size_t alignment, bool zero);

/* Counts an object that no class counts, which the thread of `cache` (NULL: no cache) has received, and performs the
 * work that is due. */
void hew_request_note_slow(struct hew_cache *cache, size_t size, struct hew_extent *extent);

#endif

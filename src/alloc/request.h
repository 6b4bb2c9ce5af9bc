/* SPDX-License-Identifier: MIT */
/*
 * request: one request, from a given place.
 *
 * Promises  counts what it hands out, lets the profiler replace it, and asks the system for memory only when nothing else
 *           is left; then everything free goes back to it, and the request is tried once more.  NULL without memory.
 *           Thread-safe, but for an explicit cache.
 * Not here  which place a request is served from: alloc.h for malloc, flags.c for mallocx.
 */
#ifndef HEW_ALLOC_REQUEST_H
#define HEW_ALLOC_REQUEST_H

#include "alloc/alloc.h"

/* Where a request is served from. */
struct hew_source {
    struct hew_cache *own;   /* the calling thread's, which counts what the thread asks for; NULL: it has none */
    struct hew_cache *cache; /* objects that are at hand: its own, an explicit one, or NULL: none */
    struct hew_arena *arena; /* all others */
};

/* The thread's own.  The arena is NULL without memory. */
struct hew_source hew_request_own(void);

/*
 * The system refused memory: everything free in every arena goes back to it, address space too, and with it what the
 * calling thread had cached.
 */
void hew_request_relieve(void);

/* An object of class `code` for a request of `size` bytes. */
void *hew_request_class(const struct hew_source *source, unsigned code, size_t size);

/* The rest of it, for whoever has asked the source for an object: NULL when there was none. */
void *hew_request_finish(const struct hew_source *source, unsigned code, size_t size, void *object);

/* A large object above HEW_LARGE_CODES_MAX bytes in the usual case: from the thread's magazine, where tcache_max is as large, else
 * one of that size that the thread's arena got back a moment ago.  NULL: there is none, or something is unusual. */
void *hew_request_reuse(size_t size);

/* Any size at any alignment; `zero`: all of it reads as zeros. */
void *hew_request(const struct hew_source *source, size_t size, size_t alignment, bool zero);

/* An object that no class counts has come to the thread of `cache` (NULL: no cache): counts it, and sees to what is due. */
void hew_request_note_slow(struct hew_cache *cache, size_t size, struct hew_extent *extent);

#endif

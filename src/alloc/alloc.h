/* SPDX-License-Identifier: MIT */
/*
 * alloc: what malloc means: the rare half of every entry point, behind the fast paths of cache/cache.h.
 *
 * Promises  NULL means out of memory; errno is never touched (api/ sets it).  Thread-safe.
 * Not here  exported names: api/.  Realloc's rules: realloc.h.
 */
#ifndef HEW_ALLOC_ALLOC_H
#define HEW_ALLOC_ALLOC_H

#include "cache/cache.h"

/* The one upward path: defined in api/boot.c, and by fixtures in tests. */
struct hew_upcalls {
    /* Starts the library if it has not started, and gives the thread a cache.  NULL: it can have none (not yet, not any
     * more); the caller goes without. */
    struct hew_cache *(*start_thread)(void);
    /* cache->due says what is due, and is 0 afterwards; `size` bytes have been asked for.  Of a large object, `large`, the
     * profiler may keep a sample in it.  A small one (NULL) is replaced when the return value is not NULL: by an object of
     * hew_alloc_sampled(). */
    void *(*attend)(struct hew_cache *cache, size_t size, struct hew_extent *large);
    /* A sampled object is about to be freed. */
    void (*sample_freed)(struct hew_extent *extent);
    /* Some heap holds idle memory that a purger should return.  `freeing`: we are inside free(), where no thread can be
     * started. */
    void (*purge_due)(bool freeing);
};
extern const struct hew_upcalls hew_upcalls;

/* The calling thread's true cache, made if need be; NULL when it can have none. */
struct hew_cache *hew_alloc_own_cache(void);

/* An extent that stands for a small object of `code`, with what the profiler knows of it.  NULL without memory. */
struct hew_extent *hew_alloc_sampled(struct hew_arena *arena, unsigned code, void *sample);

/* A large object is known as `sample` to the profiler from now on. */
void hew_alloc_mark_sampled(struct hew_extent *large, void *sample);

/* A large object of `freed` usable bytes has been resized where it is, or its pages have gone to another one: it counts,
 * and is sampled, as one that was freed and one that was allocated. */
void hew_alloc_note_resized(struct hew_extent *extent, size_t freed, size_t size);
void hew_alloc_note_moved(struct hew_extent *from, struct hew_extent *to, size_t size);

/*
 * The system refused memory: everything free in every arena goes back to it, address space too, and with it what the
 * calling thread had cached.  The caller tries once more.
 */
void hew_alloc_relieve(void);

/* A request of up to HEW_SMALL_MAX bytes that the fast path did not serve.  By size, not by code: the first call of all
 * comes before the table of codes is filled. */
void *hew_alloc_small(size_t size);

/* A request above HEW_SMALL_MAX bytes.  `zero`: the memory reads as zeros. */
void *hew_alloc_large(size_t size, bool zero);

/* Any size at a power-of-two alignment. */
void *hew_alloc_aligned(size_t size, size_t alignment, bool zero);

/* The class code that hew_alloc_aligned() uses, 0 when it is more than a small class. */
unsigned hew_alloc_aligned_code(size_t size, size_t alignment);

/* A free that the fast path did not take; `function` is what the program called.  NULL is nothing. */
void hew_alloc_free(const char *function, void *object);

/* Ends the process unless `object` is live and was asked for with `size` (at `alignment`, 0: as malloc does). */
void hew_alloc_check_size(const char *function, void *object, size_t size, size_t alignment);

/* Bytes that may be used; 0 for NULL.  Ends the process, in the name of `function`, when it is not ours. */
size_t hew_alloc_usable(const char *function, const void *object);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * upcalls: the functions of higher layers that this layer and those below call, and when.
 */
#ifndef HEW_ALLOC_UPCALLS_H
#define HEW_ALLOC_UPCALLS_H

#include "alloc/pressure.h"
#include "cache/cache.h"

/* The only path upward: defined in api/boot.c, and by fixtures in tests. */
struct hew_upcalls {
    /* Starts the library if it has not started, and gives the thread a cache.  NULL: the thread cannot have one (not
     * yet, or no longer), and the caller works without. */
    struct hew_cache *(*start_thread)(void);
    /* Performs the work in cache->due, which is 0 afterwards.  The thread has requested `size` bytes from class
     * `code` (HEW_CODE_SLOW: from no class).  If the object is large, `large` is its extent, where the profiler may
     * record a sample.  If it is small, `large` is NULL, and a result that is not NULL replaces the object: it comes
     * from hew_alloc_sampled() in `arena`.  May call functions of the program, which allocate from the thread's own
     * arena. */
    void *(*attend)(struct hew_cache *cache, struct hew_arena *arena, unsigned code, size_t size,
                    struct hew_extent *large);
    /* Called before a sampled object is freed. */
    void (*sample_freed)(struct hew_extent *extent);
    /* `sampled` has replaced `place`, an object of class `code`.  True: `place` is kept until `sampled` is freed.
     * False: the caller frees it now.  Used with prof_slabs. */
    bool (*keep_place)(void *sampled, unsigned code, void *place);
    /* Some heap holds idle memory that a purger should return, or the calling threads themselves.  `freeing`: the
     * caller is inside free(), where a thread can seldom be started. */
    void (*purge_due)(bool freeing);
    /* hew_page_grown is set: a heap may hold more than ever before, and must be checked. */
    void (*heap_grown)(void);
    /* Called if free() or a related function gets an object of a pool set (code HEW_CODE_POOL). */
    void (*pool_free)(const char *function, void *object);
    size_t (*pool_usable)(const char *function, const void *object);
    /* The same for a guarded object (code HEW_CODE_GUARD).  Both return its usable bytes, 0 after a misuse. */
    size_t (*guard_free)(const char *function, void *object);
    size_t (*guard_usable)(const char *function, const void *object);
    /* The program has been told the size of a class, and may use all of it in objects of that class. */
    void (*guard_trust_sizes)(void);
};
extern const struct hew_upcalls hew_upcalls;

/* Returns the calling thread's real cache, which it creates if needed.  NULL: the thread cannot have one. */
HEW_INLINE struct hew_cache *
hew_alloc_own_cache(void)
{
    struct hew_cache *cache = hew_cache_self;
    return HEW_LIKELY(hew_cache_is_real(cache)) ? cache->real : hew_upcalls.start_thread();
}

/* Call before returning from an operation that may have allocated or freed pages. */
HEW_INLINE void
hew_alloc_notice_due_work(bool freeing)
{
    if (HEW_UNLIKELY(atomic_load_explicit(&hew_page_due, memory_order_relaxed) & 1)) {
        hew_upcalls.purge_due(freeing);
    }
    if (!freeing && HEW_UNLIKELY(atomic_load_explicit(&hew_page_grown, memory_order_relaxed))) {
        hew_upcalls.heap_grown();
    }
    /* A thread that frees takes no more memory. */
    if (!freeing && HEW_UNLIKELY(atomic_load_explicit(&hew_page_bound.raised, memory_order_relaxed) != 0)) {
        hew_pressure_look(0);
    }
}

#endif

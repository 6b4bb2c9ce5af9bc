/* SPDX-License-Identifier: MIT */
/*
 * upcalls: what this layer and those below ask of the ones above, and who asks when.
 */
#ifndef HEW_ALLOC_UPCALLS_H
#define HEW_ALLOC_UPCALLS_H

#include "alloc/pressure.h"
#include "cache/cache.h"

/* The one upward path: defined in api/boot.c, and by fixtures in tests. */
struct hew_upcalls {
    /* Starts the library if it has not started, and gives the thread a cache.  NULL: it can have none (not yet, not any
     * more); the caller goes without. */
    struct hew_cache *(*start_thread)(void);
    /* cache->due says what is due, and is 0 afterwards; `size` bytes have been asked for, and are to come from class `code`
     * (HEW_CODE_SLOW: from none).  Of a large object, `large`, the profiler may keep a sample in it.  A small one (NULL) is
     * replaced when the return value is not NULL: by an object of hew_alloc_sampled() in `arena`.  It may call functions of the
     * program, which allocate from the thread's own arena. */
    void *(*attend)(struct hew_cache *cache, struct hew_arena *arena, unsigned code, size_t size,
                    struct hew_extent *large);
    /* A sampled object is about to be freed. */
    void (*sample_freed)(struct hew_extent *extent);
    /* `place`, an object of class `code`, would have been handed out had `sampled` not taken its place: true when it is kept
     * until then, false when it goes back at once.  With prof_slabs. */
    bool (*keep_place)(void *sampled, unsigned code, void *place);
    /* Some heap holds idle memory that a purger should return, or the callers themselves.  `freeing`: we are inside free(),
     * where a thread can seldom be started. */
    void (*purge_due)(bool freeing);
    /* hew_page_grown: a heap may hold more than ever, and is to be looked at. */
    void (*heap_grown)(void);
    /* An object of a pool set (code HEW_CODE_POOL) has come to free() or its kin. */
    void (*pool_free)(const char *function, void *object);
    size_t (*pool_usable)(const char *function, const void *object);
};
extern const struct hew_upcalls hew_upcalls;

/* The calling thread's true cache, made if need be; NULL when it can have none. */
HEW_INLINE struct hew_cache *
hew_alloc_own_cache(void)
{
    struct hew_cache *cache = hew_cache_self;
    return HEW_LIKELY(hew_cache_is_real(cache)) ? cache->real : hew_upcalls.start_thread();
}

/* Before an operation that may have given or taken pages returns. */
HEW_INLINE void
hew_alloc_notice_due_work(bool freeing)
{
    if (HEW_UNLIKELY(atomic_load_explicit(&hew_page_due, memory_order_relaxed) & 1)) {
        hew_upcalls.purge_due(freeing);
    }
    if (!freeing && HEW_UNLIKELY(atomic_load_explicit(&hew_page_grown, memory_order_relaxed))) {
        hew_upcalls.heap_grown();
    }
    /* Who frees takes no more. */
    if (!freeing && HEW_UNLIKELY(atomic_load_explicit(&hew_page_bound.raised, memory_order_relaxed) != 0)) {
        hew_pressure_look(0);
    }
}

#endif

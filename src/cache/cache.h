/* SPDX-License-Identifier: MIT */
/*
 * cache: what belongs to a thread: its counts, its arena, and which slot it uses (slot.h).
 *
 * A thread without a cache uses hew_cache_none and a slot that is empty and full for ever, so its first use leaves the fast path; so
 * does the *front* of a thread whose every operation is to be counted at once, behind which its true cache stands.
 *
 * Owned by its thread; nobody else writes.  Statistics read it with relaxed loads.
 *
 * A class's requests are `counted` less the ticks that are left.
 */
#ifndef HEW_CACHE_CACHE_H
#define HEW_CACHE_CACHE_H

#include "base/list.h"
#include "cache/slot.h"
#include "meta/map.h"
#include "slab/arena.h"

/* Most allocations of a class between two looks after its classes. */
#define HEW_CACHE_PERIOD 1024u

/* Why the slow path should call upwards before it returns: hew_cache.due. */
enum { HEW_DUE_SAMPLE = 1, HEW_DUE_BYTES = 2, HEW_DUE_GUARD = 4 };

struct hew_cache {
    uint32_t ticks[HEW_CODES]; /* allocations left in this period */
    uint64_t frees[HEW_CODES];
    /* What follows is for slow paths. */
    struct hew_cache *real;      /* itself; behind a front, the true cache; NULL in hew_cache_none and hew_cache_gone */
    uint64_t counted[HEW_CODES]; /* allocations when this period is over */
    uint32_t unsampled[HEW_CODES]; /* allocations after this period until the next sample */
    bool guarded[HEW_CODES];       /* the object that ends this period is to be guarded */
    struct hew_where where;        /* the slot it uses */
    struct hew_slot *own;          /* a slot of its own, else NULL */
    struct hew_arena *arena;
    struct hew_list link; /* all caches, under hew_caches_lock */
    /* Bytes of objects that no class's counts tell of, or not any more. */
    uint64_t other_allocated, other_freed;
    struct hew_cache_bytes {
        uint64_t allocated, freed;
    } *live;              /* kept up at each operation of a thread with a front; else NULL */
    unsigned thread;      /* its number, with the option control; else 0.  Written before the cache is in the list */
    uint64_t reported;    /* bytes allocated when HEW_DUE_BYTES was last raised */
    int64_t until_sample; /* bytes of such objects until the next sample */
    void *profile;        /* the profiler's */
    uint8_t due;          /* HEW_DUE_... */
    uint8_t due_code;     /* the class whose sample is due; HEW_CODE_NONE: until_sample is below 0 */
    bool direct;          /* an explicit cache: no depot lies between it and the arenas */
    bool caching;         /* false: thread.tcache.enabled is off */
};

/* What the fast paths of a thread look at. */
struct hew_home {
    struct hew_cache *cache;
    struct hew_where where;
};
extern HEW_HIDDEN __thread struct hew_home hew_home;
#define hew_cache_self hew_home.cache

/* HEW_DUE_BYTES is raised each time a thread has allocated so many bytes; 0: never.  Relaxed. */
extern HEW_HIDDEN _Atomic size_t hew_cache_step;

/* With hardening:sample one small object in about so many is to be guarded: HEW_DUE_GUARD.  0: none.  Relaxed. */
extern HEW_HIDDEN _Atomic uint32_t hew_cache_guard_interval;
/* Changes with each such object, so that threads with equal counts choose differently.  Relaxed. */
extern HEW_HIDDEN _Atomic uint32_t hew_cache_guard_turn;

/* Guards the list of caches, and the hand-over of a cache's counts to its arena (rank: caches). */
extern struct hew_mutex hew_caches_lock;

/* Threads that have a cache: relaxed, a hint for each one's share of the budget. */
extern HEW_HIDDEN _Atomic unsigned hew_caches_alive;

/* The caches of threads that have none: before the first use, and after the thread's end.  malloc() does not look while
 * hew_small_end is 0. */
extern HEW_HIDDEN struct hew_cache hew_cache_none, hew_cache_gone;
extern HEW_HIDDEN struct hew_slot hew_slot_none; /* empty and full for ever */

/* An object of class `code` for a thread that uses this cache and this slot, or NULL for every rare case: no array, empty, or
 * the period is over (then ticks is 0 and the request is counted). */
HEW_INLINE void *
hew_cache_pop_from(struct hew_cache *cache, const struct hew_where *where, size_t code)
{
    uint32_t *ticks = &cache->ticks[code];
    /* The slow path ends a period before the thread asks again. */
    HEW_ASSERT(1, *ticks != 0 || cache->real == NULL);
    /* All threads without a cache share one, whose ticks they must not write. */
    if ((!HEW_SLOT_RSEQ && hew_slot_peek(where, code) == NULL) || HEW_UNLIKELY(hew_count_down(ticks))) {
        return NULL;
    }
    void *object = hew_slot_pop(where, code);
    if (HEW_UNLIKELY(object == NULL)) {
        ++*ticks; /* the slow path counts it */
    }
    return object;
}

HEW_INLINE void *
hew_cache_pop(size_t code)
{
    return hew_cache_pop_from(hew_home.cache, &hew_home.where, code);
}

/* False for every rare case: no array, full, or the object is the very one that was freed last. */
HEW_INLINE bool
hew_cache_push_into(struct hew_cache *cache, const struct hew_where *where, size_t code, void *object)
{
    if (HEW_LIKELY(hew_slot_push(where, code, object) == HEW_PUSH_DONE)) {
        cache->frees[code]++;
        return true;
    }
    return false;
}

HEW_INLINE bool
hew_cache_push(size_t code, void *object)
{
    return hew_cache_push_into(hew_home.cache, &hew_home.where, code, object);
}

/* Both as functions, where a copy of the sequence is not worth its place. */
void *hew_cache_take(size_t code);
bool hew_cache_put(size_t code, void *object);

/* Whether it is the object of class `code` that was freed last into this slot. */
HEW_INLINE bool
hew_cache_newest_is(size_t code, const void *object)
{
    return hew_slot_peek(&hew_home.where, code) == object;
}

/* Thread data is still zero while the loader relocates the first program: NULL stands for hew_cache_none then. */
HEW_INLINE bool
hew_cache_is_real(const struct hew_cache *cache)
{
    return cache != NULL && cache->real != NULL;
}

/* Whether the thread uses its true cache at once: it has one, and no front. */
HEW_INLINE bool
hew_cache_is_plain(const struct hew_cache *cache)
{
    return HEW_LIKELY(cache != NULL) && HEW_LIKELY(cache->real == cache);
}

/* Allocations counted so far, for the owning thread. */
HEW_INLINE uint64_t
hew_cache_requests(const struct hew_cache *cache, unsigned code)
{
    return cache->counted[code] - cache->ticks[code];
}

#endif

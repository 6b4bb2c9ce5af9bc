/* SPDX-License-Identifier: MIT */
/*
 * cache: what one thread keeps at hand, and the two operations that all speed rests on.
 *
 * For each class code a *magazine*: an array of object addresses.  Objects themselves are never read or written here.
 *
 *     base[c]                      top[c]                 limit[c]
 *     | NULL | oldest | ... | newest | (free slots ...)    |
 *
 *     malloc  takes top[c][-1]; the NULL in slot 0 says "empty"
 *     free    stores at top[c] unless top[c] == limit[c], "full"
 *
 * A class without a magazine has top pointing behind a shared NULL and limit 0: empty and full at once, so its first
 * use leaves the fast path.  A thread without a cache uses hew_cache_none, in which every class is like that; so does
 * the *front* of a thread whose every operation is to be counted at once, behind which its true cache stands.
 *
 * What a magazine has not, or has no room for, passes between it and the depot of a CPU: depot.h.
 *
 * The arrays stand side by side (one of tops, one of limits, one of ticks) so that a class costs 20 bytes of hot memory
 * and one scaled load each.
 *
 * Only its own thread writes to it.  Statistics read it with relaxed loads.
 *
 * What the program asked for is known without counting it: a class's requests are `counted` less the ticks that are
 * left; its frees are what was requested, less what came in from outside (`balance`), plus what is here.
 */
#ifndef HEW_CACHE_CACHE_H
#define HEW_CACHE_CACHE_H

#include "base/list.h"
#include "meta/map.h"
#include "slab/arena.h"

/* Most allocations of a class between two looks after its magazine. */
#define HEW_CACHE_PERIOD 1024u

/* What has happened to a class since it was last looked after: hew_cache_class.flags. */
enum {
    HEW_CLASS_EMPTIED = 1, /* its magazine was found empty last, */
    HEW_CLASS_FILLED = 2,  /* or full */
    HEW_CLASS_MISSED = 4,
    HEW_CLASS_CHOSEN = 8, /* the user has set how much it holds; stays */
    HEW_CLASS_GUARD = 16, /* the object that ends this period is to be guarded */
};

/* Why the slow path should call upwards before it returns: hew_cache.due. */
enum { HEW_DUE_SAMPLE = 1, HEW_DUE_BYTES = 2, HEW_DUE_GUARD = 4 };

struct hew_cache {
    void **top[HEW_CODES];
    void **limit[HEW_CODES];
    uint32_t ticks[HEW_CODES]; /* allocations left in this period */
    /* What follows is for slow paths. */
    struct hew_cache *real; /* itself; behind a front, the true cache; NULL in hew_cache_none and hew_cache_gone */
    struct hew_cache
        *checked; /* of a front with hardening:check: the true cache, if alloc/harden.h may use it; or NULL */
    struct hew_cache_class {
        void **base;        /* the array, NULL: the class has no magazine */
        uint64_t counted;   /* allocations when this period is over */
        uint64_t balance;   /* objects that left for a depot or their owners less those that came from there */
        uint32_t unsampled; /* allocations after this period until the next sample */
        uint16_t most;      /* objects that the magazine may hold at most; 0: the class is not cached */
        uint8_t flags;      /* HEW_CLASS_... */
        uint8_t earned;     /* misses since its magazine grew last, or found no capacity */
    } classes[HEW_CODES];   /* side by side: a miss reads one line, seldom two */
    /* A bit a class, set before anything about it is as in a new cache no more. */
    uint64_t touched[(HEW_CODES + 63) / 64];
    struct hew_arena *arena;
    struct hew_list link; /* all caches, under hew_caches_lock */
    size_t granted;       /* bytes that full magazines would hold, */
    size_t share;         /* and may; as of a moment ago */
    /* Bytes of objects that no class's counts tell of, or not any more. */
    uint64_t other_allocated, other_freed;
    struct hew_cache_bytes {
        uint64_t allocated, freed;
    } *live;              /* kept up at each operation of a thread with a front; else NULL */
    unsigned thread;      /* its number, with the option control; else 0.  Written before the cache is in the list */
    uint64_t reported;    /* bytes allocated when HEW_DUE_BYTES was last raised */
    int64_t until_sample; /* bytes of such objects until the next sample */
    void *profile;        /* the profiler's */
    uint16_t misses; /* magazines that were found empty or full: each 16th time the thread asks for its CPU and share */
    uint16_t depot;  /* that of the CPU which the thread ran on a moment ago */
    uint8_t due;     /* HEW_DUE_... */
    uint8_t due_code; /* the class whose sample is due; HEW_CODE_NONE: until_sample is below 0 */
    uint8_t sweep;    /* the next class to look after */
    uint8_t answered; /* hew_page_bound.calls as the thread saw it last */
    bool direct;      /* an explicit cache: no depot lies between it and the arenas */
    bool custom;      /* the thread has limits of its own */
    bool caching;     /* false: thread.tcache.enabled is off */
    size_t apart;     /* with hardening:full: bytes of the thread's free objects outside the magazines */
};

extern HEW_HIDDEN __thread struct hew_cache *hew_cache_self;

/* HEW_DUE_BYTES is raised each time a thread has allocated so many bytes; 0: never.  Relaxed. */
extern HEW_HIDDEN _Atomic size_t hew_cache_step;

/* With hardening:sample one small object in about so many is to be guarded: HEW_DUE_GUARD.  0: none.  Relaxed. */
extern HEW_HIDDEN _Atomic uint32_t hew_cache_guard_interval;
/* Changes with each such object, so that threads with equal counts choose differently.  Relaxed. */
extern HEW_HIDDEN _Atomic uint32_t hew_cache_guard_turn;

/* Guards the list of caches, kept ones, and the hand-over of a cache's counts to its arena (rank: caches). */
extern struct hew_mutex hew_caches_lock;

/* Threads that have a cache: relaxed, a hint for each one's share of the budget. */
extern HEW_HIDDEN _Atomic unsigned hew_caches_alive;

/* The caches of threads that have none: before the first use, and after the thread's end.  Nothing is ever put into
 * them.  Before hew_thread_boot() they are zeros, which is full to free(); malloc() does not look while hew_small_end is 0. */
extern HEW_HIDDEN struct hew_cache hew_cache_none, hew_cache_gone;

/*
 * The newest object of class `code`, or NULL for every rare case: no magazine, empty, or the period is over (then the
 * object is still there and ticks is 0).
 */
HEW_INLINE void *
hew_cache_pop(struct hew_cache *cache, size_t code)
{
    void **top = cache->top[code];
    void *object = top[-1];
    /* Who got NULL because the period is over has ended it in the slow path before he asks again. */
    HEW_ASSERT(1, object == NULL || cache->ticks[code] != 0);
    if (HEW_UNLIKELY(object == NULL) || HEW_UNLIKELY(hew_count_down(&cache->ticks[code]))) {
        return NULL;
    }
    cache->top[code] = top - 1;
    return object;
}

/* False for every rare case: no magazine, full, or the object is the very one that was freed last. */
HEW_INLINE bool
hew_cache_push(struct hew_cache *cache, size_t code, void *object)
{
    void **top = cache->top[code];
    if (HEW_UNLIKELY(top >= cache->limit[code]) || HEW_UNLIKELY(top[-1] == object)) {
        return false;
    }
    *top = object;
    cache->top[code] = top + 1;
    return true;
}

/* Whether it is the object of class `code` that the thread freed last. */
HEW_INLINE bool
hew_cache_newest_is(const struct hew_cache *cache, size_t code, const void *object)
{
    return cache != NULL && cache->top[code][-1] == object;
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

HEW_INLINE void
hew_cache_touch(struct hew_cache *cache, unsigned code)
{
    cache->touched[code / 64] |= (uint64_t)1 << code % 64;
}

/* The first touched class from `code` on, HEW_CODES when there is none. */
HEW_INLINE unsigned
hew_cache_next_touched(const struct hew_cache *cache, unsigned code)
{
    for (unsigned word = code / 64; word < sizeof cache->touched / sizeof *cache->touched; code = ++word * 64) {
        uint64_t left = cache->touched[word] >> code % 64;
        if (left != 0) {
            return code + (unsigned)__builtin_ctzll(left);
        }
    }
    return HEW_CODES;
}

/* A thread that starts or ends visits only the classes that the cache has used. */
#define HEW_EACH_TOUCHED(cache, code)                                                                                  \
    for (unsigned code = hew_cache_next_touched(cache, 0); code < HEW_CODES;                                           \
         code = hew_cache_next_touched(cache, code + 1))

/* Objects in a magazine. */
HEW_INLINE size_t
hew_cache_depth(const struct hew_cache *cache, unsigned code)
{
    return cache->classes[code].base == NULL ? 0 : (size_t)(cache->top[code] - cache->classes[code].base) - 1;
}

/* Allocations counted so far, for the owning thread. */
HEW_INLINE uint64_t
hew_cache_requests(const struct hew_cache *cache, unsigned code)
{
    return cache->classes[code].counted - cache->ticks[code];
}

/* Frees, likewise: what was requested, with what left less what came in from outside, and what lies here. */
HEW_INLINE uint64_t
hew_cache_frees(const struct hew_cache *cache, unsigned code)
{
    return hew_cache_requests(cache, code) + cache->classes[code].balance + hew_cache_depth(cache, code);
}

/* Frees begin at nothing, where requests do: what lies here came in from outside. */
HEW_INLINE void
hew_cache_forget_frees(struct hew_cache *cache, unsigned code)
{
    cache->classes[code].balance = -(uint64_t)hew_cache_depth(cache, code);
}

#endif

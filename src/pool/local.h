/* SPDX-License-Identifier: MIT */
/*
 * local: a thread's cache of objects of each set.
 *
 * Each size has a magazine as in cache/cache.h: an array of addresses with NULL in slot 0.  A size without a magazine
 * looks both empty and full.  A thread without a cache uses placeholders that look the same.
 *
 * Owned by its thread.  Other threads read it under hew_pool_lock.  They write only when the thread cannot use it: its
 * set is being destroyed, or the thread does not exist after a fork.
 */
#ifndef HEW_POOL_LOCAL_H
#define HEW_POOL_LOCAL_H

#include "pool/set.h"

struct hew_pool_magazine {
    void **top;      /* top[-1] is the newest object */
    void **limit;    /* NULL: no magazine */
    uintptr_t first; /* first object of the fixed group; `reciprocal` as in block.h */
    uint64_t reciprocal;
};

/* Whether an object of the fixed group begins there, also past its last one; false without a magazine. */
HEW_INLINE bool
hew_pool_local_may_be(const struct hew_pool_magazine *magazine, const void *object)
{
    return ((uintptr_t)object - magazine->first) * magazine->reciprocal < magazine->reciprocal;
}

struct hew_pool_local {
    struct hew_pool_set *set; /* NULL: a placeholder */
    uint64_t larger;          /* requests larger than every size */
    size_t home;              /* the word of each fixed group where the thread starts its search */
    /* Each within one cache line.  As many struct hew_pool_counts follow: the thread's counters. */
    struct hew_pool_magazine magazines[] HEW_ALIGNED(sizeof(struct hew_pool_magazine));
};

HEW_INLINE struct hew_pool_counts *
hew_pool_local_counts(const struct hew_pool_local *local, unsigned number)
{
    return (struct hew_pool_counts *)&local->magazines[local->set->count] + number;
}

struct hew_pool_thread {
    struct hew_pool_local *at[HEW_POOL_SETS_MAX + 1]; /* by the set's id */
    unsigned turn;                                    /* thread index, from 0 */
    bool real;
    bool idle;            /* its thread has ended; it is empty and a new thread may reuse it.  Under hew_pool_lock */
    struct hew_list link; /* list of all threads, under hew_pool_lock */
};

/* Increments a counter.  Only the owner writes; other threads may read. */
HEW_INLINE void
hew_pool_local_count(uint64_t *count)
{
    __atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
}

extern HEW_HIDDEN __thread struct hew_pool_thread *hew_pool_self;

/* Sets up the placeholder that threads without a cache use; it starts as zeroed data.  Called before the first set. */
void hew_pool_local_boot(void);

/* The calling thread's cache of the set, created on demand.  NULL: no memory, the thread is ending, or the set caches
 * nothing. */
struct hew_pool_local *hew_pool_local_get(struct hew_pool_set *set);

/* Creates an empty magazine for the size.  False without memory, or if the size is not cached. */
bool hew_pool_local_open(struct hew_pool_local *local, unsigned number);

/* Flushes all but the newest `keep` objects of a size.  Returns whether a dynamic pool may be removable. */
bool hew_pool_local_flush(struct hew_pool_local *local, unsigned number, size_t keep);

/* Drops the set from every thread, under hew_pool_lock and while no thread uses the set.  With `give` the cached
 * objects are freed to their pools; without it they are only forgotten. */
void hew_pool_local_end_set(struct hew_pool_set *set, bool give);

/* Cached objects of a size in all threads, under hew_pool_lock. */
size_t hew_pool_local_held(const struct hew_pool_set *set, unsigned number);

/* Counters of live threads, under hew_pool_lock; the set has those of ended threads. */
struct hew_pool_counts hew_pool_local_done(const struct hew_pool_set *set, unsigned number);
uint64_t hew_pool_local_larger(const struct hew_pool_set *set);

/* The calling thread ends: drops its caches and prevents new ones.  Under hew_pool_lock.  False: it had none. */
bool hew_pool_local_leave(void);

/* In a fork's child: frees the objects cached by threads that do not exist here. */
void hew_pool_local_after_fork(void);

HEW_INLINE void *
hew_pool_local_pop(struct hew_pool_magazine *magazine)
{
    void **top = magazine->top, *object = top[-1];
    if (HEW_LIKELY(object != NULL)) {
        magazine->top = top - 1;
    }
    return object;
}

/* False: the magazine is full or missing, or the object is the one freed last (a double free). */
HEW_INLINE bool
hew_pool_local_push(struct hew_pool_magazine *magazine, void *object)
{
    void **top = magazine->top;
    if (HEW_UNLIKELY(top >= magazine->limit) || HEW_UNLIKELY(top[-1] == object)) {
        return false;
    }
    *top = object;
    magazine->top = top + 1;
    return true;
}

#endif

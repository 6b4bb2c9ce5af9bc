/* SPDX-License-Identifier: MIT */
/*
 * local: what a thread has at hand of each set.
 *
 * For each size a magazine, as in cache/cache.h: an array of addresses with a NULL in slot 0; a size without one is empty and
 * full at once.  A thread that has nothing of a set, or of any, finds magazines that are like that.
 *
 * Owned by its thread; others read it under hew_pool_lock, or write when the thread cannot be at work there: its set is being
 * destroyed, or it does not exist any more (fork).
 */
#ifndef HEW_POOL_LOCAL_H
#define HEW_POOL_LOCAL_H

#include "pool/set.h"

struct hew_pool_magazine {
    void **top;      /* top[-1] is the newest object */
    void **limit;    /* NULL: no magazine */
    uintptr_t first; /* of the fixed group: its first object, and the reciprocal of block.h */
    uint64_t reciprocal;
};

/* Whether an object of the fixed group begins there, or would behind its last one; never without a magazine. */
HEW_INLINE bool
hew_pool_local_may_be(const struct hew_pool_magazine *magazine, const void *object)
{
    return ((uintptr_t)object - magazine->first) * magazine->reciprocal < magazine->reciprocal;
}

struct hew_pool_local {
    struct hew_pool_set *set; /* NULL: stands for nothing at all */
    uint64_t larger;          /* requests larger than every size */
    size_t home;              /* the word of each fixed group that the thread looks at first */
    /* Each in one cache line.  Behind them struct hew_pool_counts, as many: what the thread has done. */
    struct hew_pool_magazine magazines[] HEW_ALIGNED(sizeof(struct hew_pool_magazine));
};

HEW_INLINE struct hew_pool_counts *
hew_pool_local_counts(const struct hew_pool_local *local, unsigned number)
{
    return (struct hew_pool_counts *)&local->magazines[local->set->count] + number;
}

struct hew_pool_thread {
    struct hew_pool_local *at[HEW_POOL_SETS_MAX + 1]; /* by the set's id */
    unsigned turn;                                    /* the how manyth it is, from 0 */
    bool real;
    bool idle; /* its thread has ended: it holds nothing, and waits for a thread that begins.  Under hew_pool_lock */
    struct hew_list link; /* of all threads, likewise */
};

/* One more, by the owner; others may read. */
HEW_INLINE void
hew_pool_local_count(uint64_t *count)
{
    __atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
}

extern HEW_HIDDEN __thread struct hew_pool_thread *hew_pool_self;

/* What threads without anything find: in data that begins as zeros.  Before the first set. */
void hew_pool_local_boot(void);

/* The calling thread's, made if need be; NULL: no memory, the thread ends, or the set keeps nothing at hand. */
struct hew_pool_local *hew_pool_local_get(struct hew_pool_set *set);

/* A magazine for the size, empty; false without memory, or when nothing of the size is to be at hand. */
bool hew_pool_local_open(struct hew_pool_local *local, unsigned number);

/* All but the newest `keep` objects of a size go back.  Returns whether a dynamic pool may go. */
bool hew_pool_local_flush(struct hew_pool_local *local, unsigned number, size_t keep);

/* Under hew_pool_lock, while no thread uses the set: all threads give back what they have of it, or (`keep`) nothing happens
 * but that they forget it. */
void hew_pool_local_end_set(struct hew_pool_set *set, bool give);

/* Objects of a size that threads have at hand, under hew_pool_lock. */
size_t hew_pool_local_held(const struct hew_pool_set *set, unsigned number);

/* What threads that live have done, likewise; what others did is in the set. */
struct hew_pool_counts hew_pool_local_done(const struct hew_pool_set *set, unsigned number);
uint64_t hew_pool_local_larger(const struct hew_pool_set *set);

/* The calling thread ends: it has nothing any more, and gets nothing again.  Under hew_pool_lock.  False: it had nothing. */
bool hew_pool_local_leave(void);

/* In a fork's child: what threads have at hand that do not exist here is free. */
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

/* False: full, no magazine, or the object that was freed last. */
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

/* SPDX-License-Identifier: MIT */
/*
 * mutex: a lock that spins for a short time, then sleeps in the kernel, and counts what it cost.
 *
 * Promises  no memory, no libc; unlocked when zero-filled; hew_mutex_lock is an acquire, hew_mutex_unlock a release.
 * Guards    its own counters: they are written only while it is held.
 * Source    the three-state futex lock of U. Drepper, "Futexes Are Tricky" (2011): free, held, held with waiters.
 */
#ifndef HEW_OS_MUTEX_H
#define HEW_OS_MUTEX_H

#include "base/compiler.h"

#include <stdatomic.h>

struct hew_mutex {
    _Atomic uint32_t state; /* 0 free, 1 held, 2 held and somebody sleeps */
    _Atomic uint32_t waiting;
    const void *owner; /* the last thread that took it */
    uint64_t operations;
    uint64_t owner_switches;
    uint64_t spin_acquisitions; /* contended, but the spin was enough */
    uint64_t waits;             /* contended, and slept */
    uint64_t total_wait_ns, max_wait_ns;
    uint32_t max_waiting;
};

void hew_mutex_lock_slow(struct hew_mutex *mutex);
void hew_mutex_wake(struct hew_mutex *mutex);

extern HEW_HIDDEN __thread char hew_thread_mark;

/* An address that differs between living threads. */
HEW_INLINE const void *
hew_thread_token(void)
{
    return &hew_thread_mark;
}

HEW_INLINE void
hew_mutex_note(struct hew_mutex *mutex)
{
    const void *token = hew_thread_token();
    mutex->operations++;
    if (mutex->owner != token) {
        mutex->owner = token;
        mutex->owner_switches++;
    }
}

HEW_INLINE void
hew_mutex_lock(struct hew_mutex *mutex)
{
    uint32_t expected = 0;
    /* acquire: pairs with the release in hew_mutex_unlock */
    if (HEW_UNLIKELY(!atomic_compare_exchange_strong_explicit(&mutex->state, &expected, 1, memory_order_acquire,
                                                              memory_order_relaxed))) {
        hew_mutex_lock_slow(mutex);
    }
    hew_mutex_note(mutex);
}

/* True when the lock was free and is the caller's now. */
HEW_INLINE bool
hew_mutex_try_lock(struct hew_mutex *mutex)
{
    uint32_t expected = 0;
    if (!atomic_compare_exchange_strong_explicit(&mutex->state, &expected, 1, memory_order_acquire,
                                                 memory_order_relaxed)) {
        return false;
    }
    hew_mutex_note(mutex);
    return true;
}

HEW_INLINE void
hew_mutex_unlock(struct hew_mutex *mutex)
{
    if (HEW_UNLIKELY(atomic_exchange_explicit(&mutex->state, 0, memory_order_release) == 2)) {
        hew_mutex_wake(mutex);
    }
}

/* By the holder: what the lock has cost is counted anew. */
void hew_mutex_reset_counts(struct hew_mutex *mutex);

/* In a fork's child: whatever the parent's other threads held is free again.  The counters stay. */
HEW_INLINE void
hew_mutex_after_fork(struct hew_mutex *mutex)
{
    atomic_store_explicit(&mutex->state, 0, memory_order_relaxed);
    atomic_store_explicit(&mutex->waiting, 0, memory_order_relaxed);
}

#endif

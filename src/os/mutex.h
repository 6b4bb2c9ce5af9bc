/* SPDX-License-Identifier: MIT */
/*
 * mutex: a lock that spins for a short time, then sleeps in the kernel, and counts its contention.  The gate of
 * os/gate.h controls access to all locks.
 *
 * Promises  No memory, no libc.  Unlocked when zero-filled.  hew_mutex_lock() is an acquire, hew_mutex_unlock() a
 *           release.
 * Guards    Its own counters: only the holder writes them.
 * Checked   At check level 1 and above, each thread's held locks form a list, the newest first.  If a thread takes a
 *           lock out of the order of locks.def, takes one twice, or releases another thread's lock, the process ends
 *           with both names.
 * Source    The three-state futex lock of U. Drepper, "Futexes Are Tricky" (2011): free, held, held with waiters.
 */
#ifndef HEW_OS_MUTEX_H
#define HEW_OS_MUTEX_H

#include "base/compiler.h"
#include "os/gate.h"

#include <stdatomic.h>

enum hew_lock_rank {
    HEW_LOCK_UNRANKED, /* a test's lock, or one not yet in use */
#define LOCK(rank, name, guards) HEW_LOCK_##rank,
#include "os/locks.def"
#undef LOCK
};

/* The rank and the number within the rank, in one integer. */
#define HEW_LOCK_LG_NUMBERS 24
#define HEW_LOCK_PLACE(rank, number)                                                                                   \
    (HEW_CHECK_LEVEL > 0 ? (uint32_t)HEW_LOCK_##rank << HEW_LOCK_LG_NUMBERS | (uint32_t)(number) : 0)

struct hew_mutex {
    _Atomic uint32_t state; /* 0 free, 1 held, 2 held with sleeping threads */
    _Atomic uint32_t waiting;
    const void *owner; /* token of the last thread that took it */
    uint64_t operations;
    uint64_t owner_switches;
    uint64_t spin_acquisitions; /* contended, but spinning was enough */
    uint64_t waits;             /* contended, and the thread slept */
    uint64_t total_wait_ns, max_wait_ns;
    uint32_t max_waiting;
    uint32_t place; /* HEW_LOCK_PLACE(): written before other threads know the lock.  0 at check level 0 */
#if HEW_CHECK_LEVEL > 0
    struct hew_mutex *older, *newer; /* while held: its neighbours in the holder's list */
#endif
};

_Static_assert(HEW_CHECK_LEVEL > 0 || sizeof(struct hew_mutex) == 72, "ranks cost nothing where they are not checked");

/* The initial value of a lock that is alone in its rank: all zeros at check level 0. */
#define HEW_MUTEX(rank) {.place = HEW_LOCK_PLACE(rank, 0)}

/* Sets the place of one of several locks of a rank; `number` is below 2^24.  A thread that inspects a reused struct
 * finds the same place: the place is written once, before other threads know the lock. */
#define HEW_MUTEX_PLACE(mutex, rank, number)                                                                           \
    do {                                                                                                               \
        if (HEW_CHECK_LEVEL > 0 && (mutex)->place != HEW_LOCK_PLACE(rank, number)) {                                   \
            (mutex)->place = HEW_LOCK_PLACE(rank, number);                                                             \
        }                                                                                                              \
    } while (0)

/* Another thread holds the lock, or the lock is `taken` and the gate is closed.  Returns with the lock held. */
void hew_mutex_lock_slow(struct hew_mutex *mutex, bool taken);
void hew_mutex_wake(struct hew_mutex *mutex);

/* Called with the lock held and counted while the gate is closed.  True: the caller may continue.  False: the lock is free
 * again. */
bool hew_mutex_may_pass(struct hew_mutex *mutex);

/* Called at check level 1 and above. */
void hew_mutex_before_lock(const struct hew_mutex *mutex);
void hew_mutex_locked(struct hew_mutex *mutex);
void hew_mutex_before_unlock(struct hew_mutex *mutex);
void hew_mutex_forget(struct hew_mutex *mutex);
bool hew_mutex_none_is_held(void); /* by the calling thread */

/* Returns an address that differs between living threads. */
HEW_INLINE const void *
hew_thread_token(void)
{
    return &hew_gate_held;
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
    if (HEW_CHECK_LEVEL > 0) {
        hew_mutex_locked(mutex);
    }
}

/* Takes a free lock. */
HEW_INLINE bool
hew_mutex_seize(struct hew_mutex *mutex)
{
    uint32_t expected = 0;
    /* acquire: pairs with the release in hew_mutex_free(); the gate needs sequential consistency */
    return HEW_LIKELY(atomic_compare_exchange_strong_explicit(&mutex->state, &expected, 1, memory_order_seq_cst,
                                                              memory_order_relaxed));
}

HEW_INLINE void
hew_mutex_free(struct hew_mutex *mutex)
{
    if (HEW_UNLIKELY(atomic_exchange_explicit(&mutex->state, 0, memory_order_release) == 2)) {
        hew_mutex_wake(mutex);
    }
}

HEW_INLINE void
hew_mutex_lock(struct hew_mutex *mutex)
{
    if (HEW_CHECK_LEVEL > 0) {
        hew_mutex_before_lock(mutex);
    }
    hew_gate_count(1);
    bool taken = hew_mutex_seize(mutex);
    if (HEW_UNLIKELY(!taken) || hew_gate_is_closed()) {
        hew_mutex_lock_slow(mutex, taken);
    }
    hew_mutex_note(mutex);
}

/* Takes the lock if it is free, and returns true.  Never waits for the lock's holder, so its rank is not checked. */
HEW_INLINE bool
hew_mutex_try_lock(struct hew_mutex *mutex)
{
    hew_gate_count(1);
    if (!hew_mutex_seize(mutex) || (HEW_UNLIKELY(hew_gate_is_closed()) && !hew_mutex_may_pass(mutex))) {
        hew_gate_count(-1);
        return false;
    }
    hew_mutex_note(mutex);
    return true;
}

HEW_INLINE void
hew_mutex_unlock(struct hew_mutex *mutex)
{
    if (HEW_CHECK_LEVEL > 0) {
        hew_mutex_before_unlock(mutex);
    }
    hew_mutex_free(mutex);
    hew_gate_count(-1);
}

/* Called by the thread that closed the gate, after the locks around this one are settled.  Returns when no thread holds
 * the lock, and from then on none will. */
HEW_INLINE void
hew_mutex_settle(struct hew_mutex *mutex)
{
    /* acquire: pairs with the release in hew_mutex_free() */
    if (HEW_UNLIKELY(atomic_load(&mutex->state) != 0)) {
        hew_mutex_lock(mutex);
        hew_mutex_unlock(mutex);
    }
}

/* Resets the contention counters; the caller holds the lock. */
void hew_mutex_reset_counts(struct hew_mutex *mutex);

/* Call in a fork's child: frees a lock that the parent's other threads held or wanted.  The counters stay.  Most locks
 * are free already: a write would cost a page that parent and child no longer share. */
HEW_INLINE void
hew_mutex_after_fork(struct hew_mutex *mutex)
{
    if (HEW_CHECK_LEVEL > 0) {
        hew_mutex_forget(mutex);
    }
    if (atomic_load_explicit(&mutex->state, memory_order_relaxed) != 0 ||
        atomic_load_explicit(&mutex->waiting, memory_order_relaxed) != 0) {
        atomic_store_explicit(&mutex->state, 0, memory_order_relaxed);
        atomic_store_explicit(&mutex->waiting, 0, memory_order_relaxed);
    }
}

#endif

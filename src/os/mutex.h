/* SPDX-License-Identifier: MIT */
/*
 * mutex: a lock that spins for a short time, then sleeps in the kernel, and counts what it cost.  It stands behind the gate of
 * os/gate.h.
 *
 * Promises  no memory, no libc; unlocked when zero-filled; hew_mutex_lock is an acquire, hew_mutex_unlock a release.
 * Guards    its own counters: they are written only while it is held.
 * Checked   at check level 1 and above: each thread's held locks form a list, the newest first.  A lock that is taken out of
 *           the order of locks.def, taken twice, or let go by somebody else ends the process with both names.
 * Source    the three-state futex lock of U. Drepper, "Futexes Are Tricky" (2011): free, held, held with waiters.
 */
#ifndef HEW_OS_MUTEX_H
#define HEW_OS_MUTEX_H

#include "base/compiler.h"
#include "os/gate.h"

#include <stdatomic.h>

enum hew_lock_rank {
    HEW_LOCK_UNRANKED, /* of a test, or not yet in use */
#define LOCK(rank, name, guards) HEW_LOCK_##rank,
#include "os/locks.def"
#undef LOCK
};

/* Rank and number within the rank in one. */
#define HEW_LOCK_LG_NUMBERS 24
#define HEW_LOCK_PLACE(rank, number)                                                                                   \
    (HEW_CHECK_LEVEL > 0 ? (uint32_t)HEW_LOCK_##rank << HEW_LOCK_LG_NUMBERS | (uint32_t)(number) : 0)

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
    uint32_t place; /* HEW_LOCK_PLACE(): written before others know of the lock.  0 at check level 0 */
#if HEW_CHECK_LEVEL > 0
    struct hew_mutex *older, *newer; /* while it is held: its neighbours in the holder's list */
#endif
};

_Static_assert(HEW_CHECK_LEVEL > 0 || sizeof(struct hew_mutex) == 72, "ranks cost nothing where nobody checks them");

/* What a lock begins as that is alone in its rank: all zeros at check level 0. */
#define HEW_MUTEX(rank) {.place = HEW_LOCK_PLACE(rank, 0)}

/* One of several locks of a rank; `number` below 2^24.  Who looks at a struct that is used again finds the same place: it is
 * written once, before others know of the lock. */
#define HEW_MUTEX_PLACE(mutex, rank, number)                                                                           \
    do {                                                                                                               \
        if (HEW_CHECK_LEVEL > 0 && (mutex)->place != HEW_LOCK_PLACE(rank, number)) {                                   \
            (mutex)->place = HEW_LOCK_PLACE(rank, number);                                                             \
        }                                                                                                              \
    } while (0)

/* Somebody else has the lock, or it is `taken` and the gate is closed.  Returns with the lock. */
void hew_mutex_lock_slow(struct hew_mutex *mutex, bool taken);
void hew_mutex_wake(struct hew_mutex *mutex);

/* With the lock, the gate being closed: true when the caller may go on.  False: the lock is free again. */
bool hew_mutex_may_pass(struct hew_mutex *mutex);

/* Check level 1 and above. */
void hew_mutex_before_lock(const struct hew_mutex *mutex);
void hew_mutex_locked(struct hew_mutex *mutex);
void hew_mutex_before_unlock(struct hew_mutex *mutex);
void hew_mutex_forget(struct hew_mutex *mutex);
bool hew_mutex_none_is_held(void); /* by this thread */

/* An address that differs between living threads. */
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
    /* acquire: pairs with the release in hew_mutex_free(); the rest of it is for the gate */
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
    bool taken = hew_mutex_seize(mutex);
    if (HEW_UNLIKELY(!taken) || hew_gate_is_closed()) {
        hew_mutex_lock_slow(mutex, taken);
    }
    hew_gate_held++;
    hew_mutex_note(mutex);
}

/* True when the lock was free and is the caller's now.  It cannot wait for anybody, so its rank is not looked at. */
HEW_INLINE bool
hew_mutex_try_lock(struct hew_mutex *mutex)
{
    if (!hew_mutex_seize(mutex)) {
        return false;
    }
    if (HEW_UNLIKELY(hew_gate_is_closed()) && !hew_mutex_may_pass(mutex)) {
        return false;
    }
    hew_gate_held++;
    hew_mutex_note(mutex);
    return true;
}

HEW_INLINE void
hew_mutex_unlock(struct hew_mutex *mutex)
{
    if (HEW_CHECK_LEVEL > 0) {
        hew_mutex_before_unlock(mutex);
    }
    hew_gate_held--;
    hew_mutex_free(mutex);
}

/* By whoever has closed the gate, when the locks around this one are settled: returns when nobody holds it, and nobody will. */
HEW_INLINE void
hew_mutex_settle(struct hew_mutex *mutex)
{
    /* acquire: pairs with the release in hew_mutex_free() */
    if (HEW_UNLIKELY(atomic_load(&mutex->state) != 0)) {
        hew_mutex_lock(mutex);
        hew_mutex_unlock(mutex);
    }
}

/* By the holder: what the lock has cost is counted anew. */
void hew_mutex_reset_counts(struct hew_mutex *mutex);

/* In a fork's child: whatever the parent's other threads held, or wanted, is free again.  The counters stay.  Most locks are
 * free: a write would be a page that parent and child no longer share. */
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

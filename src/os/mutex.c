/* SPDX-License-Identifier: MIT */
#include "os/mutex.h"

#include "base/options.h"
#include "os/clock.h"
#include "os/futex.h"

/* Takes a free lock; leaves a lock with sleepers marked as such when `mark` is 2. */
static bool
take(struct hew_mutex *mutex, uint32_t mark)
{
    uint32_t expected = 0;
    return atomic_load_explicit(&mutex->state, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_weak_explicit(&mutex->state, &expected, mark, memory_order_seq_cst,
                                                 memory_order_relaxed);
}

/* Waits for whoever has the lock. */
static void
contend(struct hew_mutex *mutex)
{
    int64_t most = hew_options.mutex_max_spin;
    if (hew_gate_is_closed()) {
        hew_gate_look();
    }
    for (int64_t spin = 0; most < 0 || spin < most; spin++) {
        if (take(mutex, 1)) {
            mutex->spin_acquisitions++;
            return;
        }
        hew_cpu_pause();
    }
    uint64_t begin = hew_clock_ns();
    uint32_t waiting = atomic_fetch_add_explicit(&mutex->waiting, 1, memory_order_relaxed) + 1;
    while (atomic_exchange(&mutex->state, 2) != 0) {
        hew_futex_wait(&mutex->state, 2, 0);
    }
    atomic_fetch_sub_explicit(&mutex->waiting, 1, memory_order_relaxed);
    uint64_t waited = hew_clock_ns() - begin;
    mutex->waits++;
    mutex->total_wait_ns += waited;
    mutex->max_wait_ns = waited > mutex->max_wait_ns ? waited : mutex->max_wait_ns;
    mutex->max_waiting = waiting > mutex->max_waiting ? waiting : mutex->max_waiting;
}

HEW_COLD bool
hew_mutex_may_pass(struct hew_mutex *mutex)
{
    hew_mutex_free(mutex);
    hew_gate_look();
    if (hew_gate_held == 0) {
        hew_gate_await();
        return false;
    }
    contend(mutex);
    return true;
}

void
hew_mutex_lock_slow(struct hew_mutex *mutex, bool taken)
{
    if (!taken) {
        contend(mutex);
    }
    while (hew_gate_is_closed() && !hew_mutex_may_pass(mutex)) {
        contend(mutex);
    }
}

HEW_COLD void
hew_mutex_wake(struct hew_mutex *mutex)
{
    hew_futex_wake(&mutex->state, 1);
}

HEW_COLD void
hew_mutex_reset_counts(struct hew_mutex *mutex)
{
    mutex->operations = mutex->owner_switches = mutex->spin_acquisitions = 0;
    mutex->waits = mutex->total_wait_ns = mutex->max_wait_ns = 0;
    mutex->max_waiting = 0;
}

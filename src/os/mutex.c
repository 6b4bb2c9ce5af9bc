/* SPDX-License-Identifier: MIT */
#include "os/mutex.h"

#include "base/options.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/fatal.h"
#include "os/futex.h"

/* Takes a free lock.  A `mark` of 2 records that threads may sleep on it. */
static bool
mutex_take(struct hew_mutex *mutex, uint32_t mark)
{
    uint32_t expected = 0;
    return atomic_load_explicit(&mutex->state, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_weak_explicit(&mutex->state, &expected, mark, memory_order_seq_cst,
                                                 memory_order_relaxed);
}

/* Waits for the holder of the lock. */
static void
contend(struct hew_mutex *mutex)
{
    int64_t most = hew_options.mutex_max_spin;
    if (hew_gate_is_closed()) {
        hew_gate_look();
    }
    for (int64_t spin = 0; most < 0 || spin < most; spin++) {
        if (mutex_take(mutex, 1)) {
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
    if (hew_gate_held == 1) {
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

#if HEW_CHECK_LEVEL > 0
static __thread struct hew_mutex *newest_held;

static const char *
name_of(const struct hew_mutex *mutex)
{
    static const char *const names[] = {
        "a lock without a rank",
#define LOCK(rank, name, guards) name,
#include "os/locks.def"
#undef LOCK
    };
    return names[mutex->place >> HEW_LOCK_LG_NUMBERS];
}

static bool
is_held_here(const struct hew_mutex *mutex)
{
    const struct hew_mutex *held = newest_held;
    while (held != NULL && held != mutex) {
        held = held->older;
    }
    return held != NULL;
}

HEW_COLD static _Noreturn void
end_for_order(const struct hew_mutex *mutex, const struct hew_mutex *held)
{
    char detail[160];
    struct hew_text text;
    hew_text_begin(&text, detail, sizeof detail);
    hew_text_put(&text, name_of(mutex));
    hew_text_put(&text, " while ");
    hew_text_put(&text, name_of(held));
    hew_text_put(&text, " is held");
    hew_fatal(HEW_FATAL_lock_order, "hew_mutex_lock", (uintptr_t)mutex, detail);
}

/* Ranks rise from the oldest lock of the list to the newest, except for unranked and tried locks.  So the newest lock
 * with a rank decides. */
void
hew_mutex_before_lock(const struct hew_mutex *mutex)
{
    const struct hew_mutex *held = newest_held;
    while (held != NULL && held->place == 0 && held != mutex) {
        held = held->older;
    }
    if (HEW_LIKELY(held == NULL) || HEW_LIKELY(held->place < mutex->place)) {
        return;
    }
    if (is_held_here(mutex)) {
        hew_fatal(HEW_FATAL_lock_twice, "hew_mutex_lock", (uintptr_t)mutex, name_of(mutex));
    }
    if (mutex->place != 0) {
        end_for_order(mutex, held);
    }
}

void
hew_mutex_locked(struct hew_mutex *mutex)
{
    mutex->newer = NULL;
    mutex->older = newest_held;
    if (newest_held != NULL) {
        newest_held->newer = mutex;
    }
    newest_held = mutex;
}

/* Removes a lock that this thread holds from its list. */
static void
unlink_held(struct hew_mutex *mutex)
{
    *(mutex->newer == NULL ? &newest_held : &mutex->newer->older) = mutex->older;
    if (mutex->older != NULL) {
        mutex->older->newer = mutex->newer;
    }
}

void
hew_mutex_before_unlock(struct hew_mutex *mutex)
{
    bool held = atomic_load_explicit(&mutex->state, memory_order_relaxed) != 0;
    if (HEW_UNLIKELY(!held || mutex->owner != hew_thread_token())) {
        hew_fatal(HEW_FATAL_lock_not_held, "hew_mutex_unlock", (uintptr_t)mutex, name_of(mutex));
    }
    unlink_held(mutex);
}

bool
hew_mutex_none_is_held(void)
{
    return newest_held == NULL;
}

/* Called in a fork's child: a lock in the list of another thread of the parent is now in no list. */
void
hew_mutex_forget(struct hew_mutex *mutex)
{
    if (is_held_here(mutex)) {
        unlink_held(mutex);
    }
    mutex->older = mutex->newer = NULL;
}
#endif

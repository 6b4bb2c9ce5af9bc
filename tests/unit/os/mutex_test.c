/* SPDX-License-Identifier: MIT */
/* Unit tests of os/mutex: exclusion, sleeping and waking, and counters that add up. */
#include "os/mutex.h"

#include "base/options.h"
#include "test.h"

#include <pthread.h>
#include <time.h>

#define THREADS 8
#define TURNS 20000

static struct hew_mutex mutex;
static uint64_t counter; /* guarded by mutex */
static uint64_t inside;  /* guarded by mutex: how many are in */

static void
nap(long milliseconds)
{
    const struct timespec time = {0, milliseconds * 1000000};
    nanosleep(&time, NULL);
}

static void *
count_up(void *unused)
{
    for (unsigned turn = 0; turn < TURNS; turn++) {
        if (turn % 16 != 0) {
            hew_mutex_lock(&mutex);
        } else {
            while (!hew_mutex_try_lock(&mutex)) {
                hew_cpu_pause();
            }
        }
        CHECK_EQUAL(++inside, 1);
        counter++;
        inside--;
        hew_mutex_unlock(&mutex);
    }
    return unused;
}

TEST(eight_threads_that_count_lose_nothing_and_the_counters_add_up)
{
    pthread_t threads[THREADS];
    memset(&mutex, 0, sizeof mutex);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, count_up, NULL);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQUAL(counter, THREADS * TURNS);
    CHECK_EQUAL(mutex.operations, THREADS * TURNS);
    CHECK(mutex.owner_switches >= THREADS && mutex.owner_switches <= mutex.operations);
    CHECK(mutex.spin_acquisitions + mutex.waits <= mutex.operations);
    CHECK(mutex.max_wait_ns <= mutex.total_wait_ns);
    CHECK((mutex.waits == 0) == (mutex.total_wait_ns == 0));
    CHECK(mutex.max_waiting < THREADS);
    CHECK_EQUAL(mutex.waiting, 0);
    CHECK_EQUAL(mutex.state, 0);
}

TEST(a_zero_filled_mutex_is_free_and_a_held_one_refuses)
{
    struct hew_mutex fresh = {0};
    CHECK(hew_mutex_try_lock(&fresh));
    CHECK(!hew_mutex_try_lock(&fresh));
    hew_mutex_unlock(&fresh);
    CHECK(hew_mutex_try_lock(&fresh));
    hew_mutex_unlock(&fresh);
    CHECK_EQUAL(fresh.operations, 2);
    CHECK_EQUAL(fresh.owner_switches, 1);
}

static void *
lock_once(void *unused)
{
    hew_mutex_lock(&mutex);
    counter++;
    hew_mutex_unlock(&mutex);
    return unused;
}

TEST(those_who_wait_long_sleep_and_each_is_woken)
{
    pthread_t threads[3];
    memset(&mutex, 0, sizeof mutex);
    counter = 0;
    hew_mutex_lock(&mutex);
    for (unsigned i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, lock_once, NULL);
    }
    while (atomic_load(&mutex.waiting) != 3 || atomic_load(&mutex.state) != 2) {
        nap(1);
    }
    nap(20);
    CHECK_EQUAL(counter, 0);
    hew_mutex_unlock(&mutex);
    for (unsigned i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQUAL(counter, 3);
    CHECK_EQUAL(mutex.operations, 4);
    CHECK_EQUAL(mutex.owner_switches, 4);
    CHECK_EQUAL(mutex.waits, 3);
    CHECK_EQUAL(mutex.max_waiting, 3);
    CHECK(mutex.max_wait_ns >= 20000000 && mutex.total_wait_ns >= 60000000);
    CHECK_EQUAL(mutex.waiting, 0);
}

TEST(after_fork_a_held_lock_is_free_and_its_counters_stay)
{
    struct hew_mutex held = {0};
    hew_mutex_lock(&held);
    atomic_store(&held.waiting, 2);
    hew_mutex_after_fork(&held);
    CHECK_EQUAL(held.operations, 1);
    CHECK_EQUAL(held.waiting, 0);
    CHECK(hew_mutex_try_lock(&held));
    hew_mutex_unlock(&held);
}

static void *
give_token(void *unused)
{
    (void)unused;
    return (void *)hew_thread_token();
}

TEST(living_threads_have_tokens_of_their_own)
{
    pthread_t thread;
    void *token = NULL;
    CHECK(hew_thread_token() == hew_thread_token());
    pthread_create(&thread, NULL, give_token, NULL);
    pthread_join(thread, &token);
    CHECK(token != NULL && token != hew_thread_token());
}

static _Atomic unsigned arrived;

static void *
arrive_and_lock(void *unused)
{
    atomic_store(&arrived, 1);
    return lock_once(unused);
}

/* Locks what is held until the other thread waits; one that spins cannot be seen to do so, and has some time to begin. */
static void
let_one_wait(int64_t spins)
{
    pthread_t waiter;
    memset(&mutex, 0, sizeof mutex);
    hew_options.mutex_max_spin = spins;
    arrived = 0;
    hew_mutex_lock(&mutex);
    pthread_create(&waiter, NULL, arrive_and_lock, NULL);
    while (atomic_load(&arrived) == 0 || (spins == 0 && atomic_load(&mutex.waiting) == 0)) {
        nap(1);
    }
    nap(20);
    hew_mutex_unlock(&mutex);
    pthread_join(waiter, NULL);
    hew_options.mutex_max_spin = 100;
}

TEST(without_spins_a_waiter_sleeps_and_with_endless_ones_it_never_does)
{
    let_one_wait(0);
    CHECK(mutex.waits == 1 && mutex.spin_acquisitions == 0);
    for (unsigned turn = 0; turn == 0 || (mutex.spin_acquisitions == 0 && turn < 1000); turn++) { /* it may come late */
        let_one_wait(-1);
        CHECK_EQUAL(mutex.waits, 0);
    }
    CHECK_EQUAL(mutex.spin_acquisitions, 1);
}

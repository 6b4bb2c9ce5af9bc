/* SPDX-License-Identifier: MIT */
/* Unit tests of os/futex: when a sleep ends. */
#include "os/futex.h"

#include "os/clock.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>

static _Atomic uint32_t word;
static _Atomic uint32_t asleep, awake;

TEST(a_word_that_has_changed_is_not_slept_on)
{
    word = 1;
    hew_futex_wait(&word, 0, 0); /* or it would sleep for ever */
}

TEST(a_sleep_ends_after_its_time)
{
    word = 0;
    uint64_t begin = hew_clock_ns();
    while (hew_clock_ns() - begin < 30000000) { /* it may also return for no reason */
        hew_futex_wait(&word, 0, 40);
    }
}

TEST(a_sleep_longer_than_a_second_keeps_its_seconds)
{
    word = 0;
    uint64_t begin = hew_clock_ns();
    hew_futex_wait(&word, 0, 1050); /* were the seconds lost, 50 ms would remain */
    CHECK(hew_clock_ns() - begin >= 1000000000);
}

TEST(sleeping_and_waking_keep_errno)
{
    word = 0;
    errno = 7;
    hew_futex_wait(&word, 1, 1);
    hew_futex_wait(&word, 0, 1);
    hew_futex_wake(&word, 1);
    hew_futex_wake(NULL, 1);
    CHECK_EQUAL(errno, 7);
}

static void *
sleep_until_changed(void *unused)
{
    atomic_fetch_add(&asleep, 1);
    while (atomic_load(&word) == 0) {
        hew_futex_wait(&word, 0, 0);
    }
    atomic_fetch_add(&awake, 1);
    return unused;
}

TEST(all_sleepers_wake_when_the_word_changes_and_they_are_called)
{
    pthread_t threads[4];
    word = 0;
    for (unsigned i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, sleep_until_changed, NULL);
    }
    while (atomic_load(&asleep) != 4) {
        hew_cpu_pause();
    }
    CHECK_EQUAL(atomic_load(&awake), 0);
    atomic_store(&word, 1);
    hew_futex_wake(&word, 4);
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQUAL(atomic_load(&awake), 4);
}

/* SPDX-License-Identifier: MIT */
/* Unit tests of os/gate: who gets a lock while a thread forks, and who waits. */
#include "os/gate.h"

#include "os/futex.h"
#include "os/mutex.h"
#include "test.h"

#include "fakes/child.h"

#include <pthread.h>

static struct hew_mutex outer, inner;
static _Atomic uint32_t step; /* how far the other thread is */

static void
reach(uint32_t next)
{
    atomic_store(&step, next);
    hew_futex_wake(&step, INT32_MAX);
}

static void
await_step(uint32_t wanted)
{
    for (uint32_t now; (now = atomic_load(&step)) < wanted;) {
        hew_futex_wait(&step, now, 0);
    }
}

static void
never(void)
{
    CHECK(false);
}

static void
begin(void)
{
    memset(&outer, 0, sizeof outer);
    memset(&inner, 0, sizeof inner);
    atomic_store(&step, 0);
}

/* Until the other thread sleeps before the gate, which it tells by the word. */
static void
await_sleeper(void)
{
    while (atomic_load(&hew_gate) != 2) {
        hew_futex_wait(&step, atomic_load(&step), 1);
    }
}

static void *
lock_inner(void *unused)
{
    hew_mutex_lock(&inner);
    reach(1);
    hew_mutex_unlock(&inner);
    return unused;
}

TEST(who_holds_no_lock_gets_one_when_the_gate_is_open_again)
{
    pthread_t other;
    begin();
    hew_gate_close(never);
    pthread_create(&other, NULL, lock_inner, NULL);
    await_sleeper();
    CHECK_EQUAL(atomic_load(&step), 0);
    CHECK_EQUAL(atomic_load(&inner.state), 0);
    hew_gate_open();
    pthread_join(other, NULL);
    CHECK_EQUAL(atomic_load(&step), 1);
    CHECK_EQUAL(atomic_load(&inner.state), 0);
    CHECK_EQUAL(hew_gate_held, 0);
}

TEST(who_has_closed_the_gate_takes_and_leaves_locks)
{
    begin();
    hew_gate_close(never);
    hew_mutex_lock(&outer);
    CHECK(hew_mutex_try_lock(&inner));
    hew_mutex_unlock(&inner);
    hew_mutex_unlock(&outer);
    CHECK_EQUAL(hew_gate_held, 1);
    CHECK_EQUAL(atomic_load(&outer.state), 0);
    hew_gate_open();
    CHECK_EQUAL(hew_gate_held, 0);
}

static void *
lock_one_after_the_other(void *unused)
{
    hew_mutex_lock(&outer);
    reach(1);
    await_step(2);
    CHECK(hew_gate_is_closed());
    hew_mutex_lock(&inner);
    reach(3);
    hew_mutex_unlock(&inner);
    hew_mutex_unlock(&outer);
    return unused;
}

TEST(who_holds_a_lock_gets_more_and_is_waited_for)
{
    pthread_t other;
    begin();
    pthread_create(&other, NULL, lock_one_after_the_other, NULL);
    await_step(1);
    hew_gate_close(never);
    reach(2);
    hew_mutex_settle(&outer);
    hew_mutex_settle(&inner);
    CHECK_EQUAL(atomic_load(&step), 3);
    CHECK_EQUAL(atomic_load(&outer.state), 0);
    CHECK_EQUAL(atomic_load(&inner.state), 0);
    hew_gate_open();
    pthread_join(other, NULL);
    CHECK_EQUAL(hew_gate_held, 0);
}

static void *
settle_what_is_free(void *unused)
{
    hew_gate_close(never);
    hew_mutex_settle(&inner);
    hew_gate_open();
    return unused;
}

TEST(settling_a_free_lock_writes_nothing)
{
    begin();
    settle_what_is_free(NULL);
    CHECK_EQUAL(inner.operations, 0);
    CHECK(inner.owner == NULL);
}

TEST(a_second_thread_closes_the_gate_when_the_first_has_opened_it)
{
    pthread_t other;
    begin();
    hew_gate_close(never);
    pthread_create(&other, NULL, settle_what_is_free, NULL);
    await_sleeper();
    hew_gate_open();
    pthread_join(other, NULL);
    CHECK(!hew_gate_is_closed());
}

static unsigned came_home;

static void
come_home(void)
{
    came_home++;
    hew_gate_after_fork();
    hew_mutex_after_fork(&inner);
}

/* A thread that is not here was about to wait before the gate when the process was copied. */
static void
lock_in_child(void)
{
    hew_mutex_lock(&inner);
    CHECK_EQUAL(came_home, 1);
    CHECK_EQUAL(hew_gate_held, 1);
    CHECK(!hew_gate_is_closed());
    hew_mutex_unlock(&inner);
    CHECK_EQUAL(atomic_load(&inner.state), 0);
    CHECK_EQUAL(hew_gate_held, 0);
    hew_mutex_lock(&inner);
    CHECK_EQUAL(came_home, 1);
}

TEST(a_child_that_asks_for_a_lock_too_early_is_made_ready_first)
{
    begin();
    came_home = 0;
    hew_gate_close(come_home);
    CHECK_EQUAL(child_run(lock_in_child).status, 0);
    atomic_store(&inner.state, 1);
    CHECK_EQUAL(child_run(lock_in_child).status, 0);
    atomic_store(&inner.state, 0);
    hew_mutex_lock(&inner);
    hew_mutex_unlock(&inner);
    CHECK_EQUAL(came_home, 0);
    hew_gate_open();
}

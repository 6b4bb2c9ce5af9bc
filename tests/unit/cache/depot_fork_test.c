/* SPDX-License-Identifier: MIT */
/* depot_fork: a fork while another thread is at work on a depot.  It is stopped there by the lock that it needs for a larger ring. */
#include "one_thread.h"

#include "cache/owner.h"
#include "stuck.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define FEW 60u  /* fit into the first ring, */
#define MORE 40u /* do not */
/* Neither do these; each is a size of ring that was not there before, for which our memory's lock is needed. */
#define MANY 150u
#define VERY_MANY 400u
#define OTHER hew_code_of_size(128)
#define SOME 20u

static void *others[2 * SOME];
static unsigned more; /* written before the other thread begins */

static void *
give_more(void *unused)
{
    hew_depot_give(0, CODE, objects + FEW, more);
    return unused;
}

/* A thread that waits for hew_meta_lock, which the caller holds, in the middle of its work on depot 0: it gives so many objects. */
static pthread_t
stop_in_the_middle(unsigned count)
{
    pthread_t thread;
    more = count;
    layers_take_regions(hew_arena_get(0), CODE, objects, FEW + more);
    hew_depot_give(0, CODE, objects, FEW);
    hew_mutex_lock(&hew_meta_lock);
    CHECK(pthread_create(&thread, NULL, give_more, NULL) == 0);
    while (atomic_load(&hew_meta_lock.waiting) == 0) {
        usleep(100);
    }
    return thread;
}

/* A child ends without any end that a sanitizer looks at. */
static void
end_child(bool well)
{
    raise(well ? SIGKILL : SIGTERM);
}

static void
expect_well(pid_t child)
{
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void
begin(void)
{
    new_cache();
    alarm(STUCK_SECONDS); /* ends a deadlock with the forking thread */
}

static void
end(void)
{
    alarm(0);
    end_cache();
}

static void
nothing_in_child(void)
{
}

TEST(who_is_at_work_on_a_depot_when_a_fork_begins_gets_done)
{
    begin();
    pthread_t thread = stop_in_the_middle(MORE);
    hew_gate_close(nothing_in_child);
    hew_mutex_unlock(&hew_meta_lock);
    CHECK(!hew_depot_drain(true)); /* as a handler of fork() does that trims */
    hew_gate_open();
    CHECK(pthread_join(thread, NULL) == 0);
    hew_depot_drain(true);
    CHECK_EQUAL(hew_depot_held(CODE), 0);
    end();
}

TEST(a_child_finds_what_another_thread_was_about_to_give)
{
    begin();
    pthread_t thread = stop_in_the_middle(MORE);
    hew_gate_close(hew_depot_after_fork);
    hew_mutex_unlock(&hew_meta_lock);
    hew_depot_settle();
    pid_t child = fork();
    if (child == 0) {
        hew_gate_after_fork();
        hew_depot_after_fork();
        end_child(hew_depot_held(CODE) == FEW + MORE);
    }
    hew_gate_open();
    expect_well(child);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_EQUAL(hew_depot_held(CODE), FEW + MORE);
    end();
}

/* Objects of another class: some lie in the depot, some are ours. */
static void
begin_with_others(void)
{
    begin();
    hew_depot_drain(true); /* rings begin anew */
    layers_take_regions(hew_arena_get(0), OTHER, others, 2 * SOME);
    hew_depot_give(0, OTHER, others, SOME);
}

TEST(who_is_stopped_at_work_on_one_class_keeps_nobody_from_another)
{
    begin_with_others();
    pthread_t thread = stop_in_the_middle(MANY);
    void *got[2 * SOME];
    hew_depot_give(0, OTHER, others + SOME, SOME);
    CHECK_EQUAL(hew_depot_held(OTHER), 2 * SOME);
    CHECK_EQUAL(hew_depot_take(0, OTHER, got, 2 * SOME), 2 * SOME);
    CHECK_EQUAL(hew_depot_take(0, CODE, got, 1), 0); /* without waiting */
    CHECK(!hew_depot_newest_is(0, CODE, objects[FEW - 1]));
    hew_mutex_unlock(&hew_meta_lock);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_EQUAL(hew_depot_held(CODE), FEW + MANY);
    hew_owner_give(OTHER, got, 2 * SOME);
    end();
}

TEST(a_child_of_a_fork_that_did_not_wait_loses_what_was_being_worked_on_and_no_more)
{
    begin_with_others();
    pthread_t thread = stop_in_the_middle(VERY_MANY);
    hew_gate_close(hew_depot_after_fork);
    pid_t child = fork();
    if (child == 0) {
        hew_gate_after_fork();
        hew_depot_after_fork();
        bool right = hew_depot_held(CODE) == 0 && hew_depot_held(OTHER) == SOME &&
                     hew_depot_counts().bytes == SOME * hew_code_size(OTHER) &&
                     hew_depot_take(0, OTHER, others, SOME) == SOME && hew_depot_take(0, CODE, objects, 1) == 0;
        end_child(right);
    }
    hew_gate_open();
    hew_mutex_unlock(&hew_meta_lock);
    expect_well(child);
    CHECK(pthread_join(thread, NULL) == 0);
    hew_owner_give(OTHER, others + SOME, SOME);
    end();
}

/* SPDX-License-Identifier: MIT */
/* depot_fork: a fork while another thread is at work on a depot.  It is stopped there by the lock that it needs for a larger ring. */
#include "one_thread.h"

#include "cache/owner.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define FEW 60u  /* fit into the first ring, */
#define MORE 40u /* do not */

static unsigned
fill_from_bin(void **into, unsigned wanted)
{
    struct hew_arena *arena = hew_arena_get(0);
    unsigned got = 0;
    while (got < wanted) {
        got += hew_bin_take(&arena->bins[CODE], &arena->pages, CODE, into + got, wanted - got);
    }
    return got;
}

static void *
give_more(void *unused)
{
    hew_depot_give(0, CODE, objects + FEW, MORE);
    return unused;
}

/* A thread that waits for hew_meta_lock, which the caller holds, in the middle of its work on depot 0. */
static pthread_t
stop_in_the_middle(void)
{
    pthread_t thread;
    CHECK_EQUAL(fill_from_bin(objects, FEW + MORE), FEW + MORE);
    hew_depot_give(0, CODE, objects, FEW);
    hew_mutex_lock(&hew_meta_lock);
    CHECK(pthread_create(&thread, NULL, give_more, NULL) == 0);
    while (atomic_load(&hew_meta_lock.waiting) == 0) {
        usleep(100);
    }
    return thread;
}

static void
nothing_in_child(void)
{
}

TEST(who_is_at_work_on_a_depot_when_a_fork_begins_gets_done)
{
    new_cache();
    alarm(100); /* whoever waits for a thread that waits for the fork */
    pthread_t thread = stop_in_the_middle();
    hew_gate_close(nothing_in_child);
    hew_mutex_unlock(&hew_meta_lock);
    CHECK(!hew_depot_drain(true)); /* as a handler of fork() does that trims */
    hew_gate_open();
    CHECK(pthread_join(thread, NULL) == 0);
    hew_depot_drain(true);
    CHECK_EQUAL(hew_depot_held(CODE), 0);
    alarm(0);
    end_cache();
}

TEST(a_child_finds_what_another_thread_was_about_to_give)
{
    new_cache();
    alarm(100);
    pthread_t thread = stop_in_the_middle();
    hew_gate_close(hew_depot_after_fork);
    hew_mutex_unlock(&hew_meta_lock);
    hew_depot_settle();
    pid_t child = fork();
    if (child == 0) {
        hew_gate_after_fork();
        hew_depot_after_fork();
        raise(hew_depot_held(CODE) == FEW + MORE ? SIGKILL : SIGTERM); /* without any end that a sanitizer looks at */
    }
    hew_gate_open();
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_EQUAL(hew_depot_held(CODE), FEW + MORE);
    alarm(0);
    end_cache();
}

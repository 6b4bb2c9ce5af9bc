/* SPDX-License-Identifier: MIT */
/* Unit tests of what is there at check level 1 and above only: the words of a failed check, the ranks of locks, the rate of
 * walks.  Built at check level 3 in every build. */
#include "os/check.h"

#include "os/fatal.h"
#include "os/mutex.h"
#include "test.h"

#include "fakes/child.h"

#include <pthread.h>
#include <signal.h>

static struct hew_mutex bins[2], pages = HEW_MUTEX(page), meta = HEW_MUTEX(meta), plain;

static void
place_bins(void)
{
    HEW_MUTEX_PLACE(&bins[0], bin, 1);
    HEW_MUTEX_PLACE(&bins[1], bin, 2);
}

/* Whether a child that does this aborts with just that line; `mutex` stands for its %zx. */
static bool
dies(void (*body)(void), const char *line, const void *mutex)
{
    char expected[512];
    snprintf(expected, sizeof expected, line, (size_t)mutex);
    struct child_end end = child_run(body);
    if (strcmp(end.error, expected) != 0) {
        printf("  said      %s  expected  %s", end.error, expected);
    }
    return WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGABRT && strcmp(end.error, expected) == 0;
}

enum { LINE_BEFORE = __LINE__ };
static void
fail_a_check(void)
{
    int two = 2;
    HEW_ASSERT(1, two + two == 5);
}

TEST(a_failed_check_names_its_function_place_and_condition)
{
    char line[128];
    snprintf(line, sizeof line, "<hew>: fail_a_check(): check failed: check_test.c:%d: two + two == 5\n",
             LINE_BEFORE + 5);
    CHECK(dies(fail_a_check, line, NULL));
}

TEST(a_check_above_the_level_is_not_looked_at)
{
    int looks = 0;
    HEW_ASSERT(4, ++looks == 0);
    HEW_ASSERT(3, ++looks == 1);
    CHECK_EQUAL(looks, 1);
}

static void
lock_meta_then_page(void)
{
    hew_mutex_lock(&meta);
    hew_mutex_lock(&pages);
}

TEST(two_locks_in_the_wrong_order_are_both_named)
{
    CHECK(
        dies(lock_meta_then_page,
             "<hew>: hew_mutex_lock(0x%zx): lock taken out of order: a page heap's lock while hew_meta_lock is held\n",
             &pages));
}

static void
lock_the_second_bin_first(void)
{
    hew_mutex_lock(&bins[1]);
    hew_mutex_lock(&bins[0]);
}

TEST(two_locks_of_one_rank_are_taken_by_number)
{
    place_bins();
    CHECK(dies(lock_the_second_bin_first,
               "<hew>: hew_mutex_lock(0x%zx): lock taken out of order: a bin's lock while a bin's lock is held\n",
               &bins[0]));
}

static void
lock_out_of_order_around_one_without_a_rank(void)
{
    hew_mutex_lock(&meta);
    hew_mutex_lock(&plain);
    hew_mutex_lock(&pages);
}

TEST(a_lock_without_a_rank_hides_no_other)
{
    CHECK(
        dies(lock_out_of_order_around_one_without_a_rank,
             "<hew>: hew_mutex_lock(0x%zx): lock taken out of order: a page heap's lock while hew_meta_lock is held\n",
             &pages));
}

static void
lock_twice(void)
{
    hew_mutex_lock(&pages);
    hew_mutex_lock(&meta);
    hew_mutex_lock(&pages);
}

static void
lock_one_without_a_rank_twice(void)
{
    hew_mutex_lock(&plain);
    hew_mutex_lock(&meta);
    hew_mutex_lock(&plain);
}

TEST(a_lock_that_its_holder_takes_again_ends_the_process_instead_of_waiting)
{
    CHECK(
        dies(lock_twice, "<hew>: hew_mutex_lock(0x%zx): lock taken twice by one thread: a page heap's lock\n", &pages));
    CHECK(dies(lock_one_without_a_rank_twice,
               "<hew>: hew_mutex_lock(0x%zx): lock taken twice by one thread: a lock without a rank\n", &plain));
}

static void
unlock_what_is_free(void)
{
    hew_mutex_unlock(&meta);
}

static void *
unlock_pages(void *unused)
{
    hew_mutex_unlock(&pages);
    return unused;
}

static void
unlock_what_another_thread_holds(void)
{
    pthread_t thread;
    hew_mutex_lock(&pages);
    pthread_create(&thread, NULL, unlock_pages, NULL);
    pthread_join(thread, NULL);
}

TEST(only_the_holder_lets_a_lock_go)
{
    CHECK(dies(unlock_what_is_free,
               "<hew>: hew_mutex_unlock(0x%zx): lock let go by a thread that does not hold it: hew_meta_lock\n",
               &meta));
    CHECK(dies(unlock_what_another_thread_holds,
               "<hew>: hew_mutex_unlock(0x%zx): lock let go by a thread that does not hold it: a page heap's lock\n",
               &pages));
}

static void
work_in_the_child(void)
{
    hew_mutex_after_fork(&bins[0]);
    hew_mutex_after_fork(&pages);
    hew_mutex_after_fork(&meta);
    hew_mutex_lock(&bins[0]);
    hew_mutex_lock(&meta);
    hew_mutex_unlock(&bins[0]);
    hew_mutex_unlock(&meta);
    CHECK(hew_mutex_try_lock(&pages));
    hew_mutex_unlock(&pages);
}

TEST(locks_may_be_let_go_in_any_order_and_a_forks_child_holds_none)
{
    place_bins();
    hew_mutex_lock(&bins[0]);
    hew_mutex_lock(&bins[1]);
    hew_mutex_lock(&pages);
    hew_mutex_lock(&meta);
    hew_mutex_unlock(&bins[1]);
    struct child_end end = child_run(work_in_the_child);
    CHECK_EQUAL(end.status, 0);
    hew_mutex_unlock(&bins[0]);
    hew_mutex_unlock(&meta);
    hew_mutex_lock(&meta);
    hew_mutex_unlock(&pages);
    hew_mutex_unlock(&meta);
    hew_mutex_lock(&bins[0]); /* nothing is left in the list */
    hew_mutex_unlock(&bins[0]);
}

TEST(a_short_walk_is_always_due_and_a_long_one_as_often_as_its_steps_are_saved)
{
    for (unsigned turn = 0; turn < 100; turn++) {
        CHECK(hew_check_may_walk(HEW_CHECK_STEPS));
    }
    unsigned walks = 0;
    for (unsigned turn = 0; turn < 1000; turn++) {
        walks += hew_check_may_walk(10 * HEW_CHECK_STEPS);
    }
    CHECK_EQUAL(walks, 100);
    CHECK(!hew_check_may_walk(SIZE_MAX));
    CHECK(hew_check_may_walk(HEW_CHECK_STEPS));
}

/* SPDX-License-Identifier: MIT */
/* purger: its rounds run at made-up times; only the tests of the thread itself wait for the real clock. */
#include "control/purger.h"

#include "control/own_thread.h"
#include "layers_alloc.h"
#include "os/clock.h"
#include "page/hooks.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define DECAY_MS 3200000 /* so long that what passes on the real clock meanwhile is nothing */

/* ThreadSanitizer ends a forked child that starts a thread unless told not to. */
HEW_EXPORT const char *__tsan_default_options(void);
const char *
__tsan_default_options(void)
{
    return "die_after_fork=0";
}

/* Arenas with pages and times of their own: none shares the page heap of another. */
#define OTHER HEW_PAGE_CLIENTS
#define THIRD (2 * HEW_PAGE_CLIENTS)

static void
boot_once(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.dirty_decay_ms = DECAY_MS;
        CHECK(hew_arena_get(0) != NULL && hew_arena_get(OTHER) != NULL);
    }
}

static void
leave_dirty(unsigned index, size_t bytes)
{
    struct hew_extent *extent = hew_large_take(hew_arena_at(index), bytes, HEW_PAGE, HEW_CODE_SLOW);
    CHECK(extent != NULL);
    hew_large_give(extent);
}

static size_t
dirty(unsigned index)
{
    return hew_page_counts(hew_arena_at(index)->pages.heap).dirty;
}

TEST(a_round_over_nothing_has_nothing_to_come_back_for)
{
    CHECK_EQUAL(hew_purger_round(1000, false), 0); /* not even an arena */
    boot_once();
    CHECK_EQUAL(hew_purger_round(hew_clock_ms(), false), 0);
    CHECK_EQUAL(hew_purger_round(hew_clock_ms(), true), 0);
}

TEST(a_round_for_all_returns_everything_of_every_arena)
{
    boot_once();
    leave_dirty(0, 3 * MIB);
    leave_dirty(OTHER, 5 * MIB);
    CHECK_EQUAL(dirty(0) + dirty(OTHER), 8 * MIB);
    CHECK_EQUAL(hew_purger_round(hew_clock_ms(), true), 0);
    CHECK_EQUAL(dirty(0) + dirty(OTHER), 0);
    CHECK_EQUAL(hew_page_counts(hew_arena_at(OTHER)->pages.heap).dirty_purged, 5 * MIB);
}

TEST(dirty_pages_go_bit_by_bit_as_time_passes_and_none_is_left_at_the_end)
{
    boot_once();
    uint64_t now = hew_clock_ms();
    leave_dirty(0, 64 * MIB);
    size_t before = dirty(0), first = 0, half = 0;
    CHECK(hew_purger_round(now, false) != 0);
    CHECK(dirty(0) == before);
    for (uint64_t passed = 0; passed <= DECAY_MS * 2; passed += DECAY_MS / 32) {
        uint64_t next = hew_purger_round(now + passed, false);
        CHECK(dirty(0) <= before);
        before = dirty(0);
        first = passed == DECAY_MS / 32 * 4 ? before : first;
        half = passed == DECAY_MS / 2 ? before : half;
        CHECK_EQUAL(next, before == 0 ? 0 : DECAY_MS / 32);
    }
    CHECK(first > 60 * MIB);                   /* slow at first, */
    CHECK(half > 16 * MIB && half < 48 * MIB); /* then fast, */
    CHECK_EQUAL(before, 0);                    /* and to the end. */
}

TEST(the_next_round_is_when_the_first_of_the_arenas_wants_it)
{
    boot_once();
    uint64_t now = hew_clock_ms();
    hew_arena_at(OTHER)->pages.heap->dirty_decay.decay_ms = DECAY_MS / 10;
    leave_dirty(0, 2 * MIB);
    CHECK_EQUAL(hew_purger_round(now, false), DECAY_MS / 32);
    leave_dirty(OTHER, 2 * MIB);
    CHECK_EQUAL(hew_purger_round(now, false), DECAY_MS / 320);
    hew_purger_round(now, true);
    hew_arena_at(OTHER)->pages.heap->dirty_decay.decay_ms = DECAY_MS;
}

TEST(what_never_decays_stays_until_all_is_asked_for)
{
    boot_once();
    hew_arena_at(0)->pages.heap->dirty_decay.decay_ms = -1;
    leave_dirty(0, 4 * MIB);
    CHECK_EQUAL(hew_purger_round(hew_clock_ms() + 100 * DECAY_MS, false), 0);
    CHECK_EQUAL(dirty(0), 4 * MIB);
    hew_purger_round(hew_clock_ms(), true);
    CHECK_EQUAL(dirty(0), 0);
    hew_arena_at(0)->pages.heap->dirty_decay.decay_ms = DECAY_MS;
}

/* Ten milliseconds, 9,000 times at the most: the thread comes when the system lets it. */
static bool
may_wait(unsigned look)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return look < 9000;
}

TEST(without_background_thread_who_wakes_does_the_work)
{
    boot_once();
    hew_options.background_thread = false;
    leave_dirty(0, 4 * MIB);
    hew_page_due = 1;
    errno = 77;
    hew_purger_wake();
    CHECK_EQUAL(errno, 77);
    CHECK_EQUAL(hew_page_due, 3);
    CHECK_EQUAL(dirty(0), 4 * MIB); /* before its time */
    hew_purger_round(hew_clock_ms(), true);
    for (unsigned look = 0; hew_page_due != 0 && may_wait(look); look++) { /* a caller finds that nothing is left */
        hew_purger_wake_in_free();
    }
    CHECK_EQUAL(hew_page_due, 0);
    hew_options.background_thread = true;
    hew_purger_wake(); /* nothing is due: no thread either */
    CHECK_EQUAL(hew_page_due, 0);
}

static bool
goes_by_itself(unsigned index)
{
    for (unsigned look = 0; dirty(index) != 0 && may_wait(look); look++) {
    }
    return dirty(index) == 0;
}

static void
leave_dirty_and_wake(unsigned index)
{
    for (unsigned look = 0; hew_page_due != 0 && may_wait(look); look++) { /* it works until nothing decays */
    }
    CHECK_EQUAL(hew_page_due, 0);
    leave_dirty(index, 8 * MIB);
    CHECK_EQUAL(hew_page_due, 1);
    errno = 77;
    hew_purger_wake();
    CHECK_EQUAL(errno, 77);
}

TEST(the_thread_returns_idle_memory_by_itself_each_time_there_is_some)
{
    boot_once();
    hew_options.dirty_decay_ms = 100;
    CHECK(hew_arena_get(THIRD) != NULL);
    hew_options.dirty_decay_ms = DECAY_MS;
    leave_dirty_and_wake(THIRD);
    CHECK(goes_by_itself(THIRD));
    leave_dirty_and_wake(THIRD); /* the same thread, asleep by now */
    CHECK(goes_by_itself(THIRD));
}

static unsigned
threads_here(void)
{
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task = readdir(tasks); task != NULL; task = readdir(tasks)) {
        count += task->d_name[0] != '.';
    }
    closedir(tasks);
    return count;
}

/* The system lists a thread for some time after it has been joined. */
static bool
threads_become(unsigned count)
{
    for (unsigned look = 0; threads_here() != count && may_wait(look); look++) {
    }
    return threads_here() == count;
}

TEST(the_program_forbids_the_thread_and_allows_it_again)
{
    boot_once();
    CHECK(hew_purger_enabled());
    unsigned with = threads_here();
    CHECK(hew_purger_enable(false));
    CHECK(!hew_purger_enabled() && hew_options.background_thread);
    CHECK(threads_become(with - 1));
    leave_dirty(THIRD, 8 * MIB);
    for (unsigned look = 0; dirty(THIRD) != 0 && may_wait(look); look++) {
        hew_purger_wake();
    }
    CHECK_EQUAL(threads_here(), with - 1);
    CHECK_EQUAL(dirty(THIRD), 0);
    leave_dirty(THIRD, 8 * MIB);
    CHECK(hew_purger_enable(true));
    CHECK_EQUAL(threads_here(), with);
    CHECK(goes_by_itself(THIRD));
}

TEST(allowing_the_thread_starts_it_though_nothing_is_due)
{
    boot_once();
    unsigned with = threads_here();
    hew_purger_end();
    CHECK(threads_become(with - 1));
    CHECK_EQUAL(hew_page_due, 0);
    CHECK(hew_purger_enable(true));
    CHECK_EQUAL(threads_here(), with);
    CHECK(hew_purger_enable(true)); /* there is one already */
    CHECK_EQUAL(threads_here(), with);
}

static void
lock(struct hew_mutex *mutex)
{
    hew_mutex_lock(mutex);
}

static void
unlock(struct hew_mutex *mutex)
{
    hew_mutex_unlock(mutex);
}

/* Those that a round takes, in the order of their ranks. */
static void
each_lock_of_a_round(void (*act)(struct hew_mutex *mutex))
{
    HEW_EACH_ARENA(arena)
    {
        for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
            act(&arena->bins[code].lock);
        }
    }
    HEW_EACH_ARENA(arena)
    {
        act(&arena->pages.heap->lock);
    }
    act(&hew_map_lock);
    act(&hew_meta_lock);
}

static void *
end_at_once(void *unused)
{
    return unused;
}

/* In a child: the thread comes at the first need, whether that comes up in malloc or in free. */
static void
need_a_thread(void (*wake)(void))
{
    hew_purger_after_fork();
    CHECK_EQUAL(threads_here(), 1);
    leave_dirty(THIRD, 8 * MIB);
    CHECK_EQUAL(hew_page_due, 1);
    wake();
    CHECK_EQUAL(threads_here(), 2);
    CHECK(goes_by_itself(THIRD));
}

/* After a thread of the program's own has run there, not in free. */
static void
need_a_thread_beside_others(void)
{
    pthread_t other;
    hew_purger_after_fork();
    CHECK(hew_own_thread_create(&other, 0, end_at_once));
    hew_own_thread_join(other);
    CHECK(threads_become(1));
    leave_dirty(THIRD, 8 * MIB);
    hew_purger_wake_in_free();
    CHECK_EQUAL(threads_here(), 1);
    CHECK_EQUAL(hew_page_due, 1);
    hew_purger_wake();
    CHECK(goes_by_itself(THIRD));
}

/* As api/fork.c does in its way: the thread may be in the middle of a round. */
static bool
child_passes(unsigned way)
{
    fflush(stdout);
    each_lock_of_a_round(lock);
    pid_t child = fork();
    each_lock_of_a_round(unlock);
    if (child == 0) {
        way == 0   ? need_a_thread(hew_purger_wake)
        : way == 1 ? need_a_thread(hew_purger_wake_in_free)
                   : need_a_thread_beside_others();
        fflush(stdout);
        _exit(test_failures != 0);
    }
    int status = 1;
    return waitpid(child, &status, 0) == child && status == 0;
}

TEST(a_forks_child_gets_a_thread_of_its_own)
{
    boot_once();
    CHECK(child_passes(0));
    CHECK(child_passes(1));
    CHECK(child_passes(2));
}

/* As a program's may that keeps a buffer: more than the stack that is enough for hew alone. */
static bool
deep_dalloc(struct hew_extent_hooks *hooks, void *address, size_t size, bool committed, unsigned arena)
{
    volatile char buffer[200000];
    buffer[0] = buffer[sizeof buffer - 1] = 1;
    return buffer[0] == 1; /* refused */
}

TEST(a_programs_hook_finds_the_stack_that_its_own_threads_have)
{
    static struct hew_extent_hooks table;
    boot_once();
    unsigned with = threads_here();
    hew_purger_before_hooks();
    CHECK(threads_become(with)); /* another one */
    table = hew_hooks_default;
    table.dalloc = deep_dalloc;
    hew_page_set_hooks(hew_arena_at(THIRD)->pages.heap, &table);
    leave_dirty_and_wake(THIRD);
    CHECK(goes_by_itself(THIRD));
}

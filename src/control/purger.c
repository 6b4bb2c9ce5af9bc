/* SPDX-License-Identifier: MIT */
#include "control/purger.h"

#include "alloc/pressure.h"
#include "base/options.h"
#include "cache/depot.h"
#include "control/own_thread.h"
#include "guard/guard.h"
#include "os/clock.h"
#include "os/entry.h"
#include "os/futex.h"
#include "os/threads.h"
#include "pool/life.h"
#include "slab/arena.h"
#include "stats/outside.h"

#include <errno.h>
#include <pthread.h>

#define STACK_BYTES ((size_t)64 << 10)
#define SLEEP_MIN_MS 10
#define SLEEP_MAX_MS 1000
#define DRAIN_MS 250 /* between two drains of the per-CPU caches */

/* hew_page_due: 0 nothing is due, and the thread, if any, sleeps; 1 raised by a heap; 2 the thread is working; 3 there
 * is no thread, and callers of malloc and free do its work. */
enum { QUIET = 0, RAISED = 1, AT_WORK = 2, LEFT_TO_CALLERS = 3 };
enum { NO_THREAD, STARTING, RUNNING, ENDING, NO_THREADS_HERE };
static _Atomic uint32_t thread_state;
static pthread_t thread; /* while RUNNING or ENDING */
static _Atomic uint32_t stop;
static __thread bool is_purger;
static _Atomic bool large_stack; /* the thread calls the program's hooks */
static _Atomic bool start_no_more;

/* In a fork's child, written at its start.  owed: the parent had a purger, or was about to start one; child: this
 * process's id, 0 if it is no child. */
static bool owed;
static uint64_t child;
static _Atomic bool may_begin_in_free; /* no other thread has been seen in it yet */

static _Atomic uint64_t callers_next_ms; /* time of the callers' next pass; UINT64_MAX while a caller runs one */

/* The program's choice for background_thread. */
enum { AS_SET, FORBIDDEN, ALLOWED };
static _Atomic uint32_t choice;

/* Returns what the per-CPU caches did not need between two drains.  Returns milliseconds to the next drain, 0 when they
 * are empty. */
static uint64_t
drain_depots(uint64_t now_ms, bool all)
{
    static _Atomic uint64_t drained_ms; /* both relaxed: two concurrent drains do no harm */
    static _Atomic bool some_left;
    uint64_t since = now_ms - atomic_load_explicit(&drained_ms, memory_order_relaxed);
    if (all || since >= DRAIN_MS) {
        atomic_store_explicit(&drained_ms, now_ms, memory_order_relaxed);
        atomic_store_explicit(&some_left, hew_slot_drain(all) | hew_depot_drain(all), memory_order_relaxed);
        since = 0;
    }
    return atomic_load_explicit(&some_left, memory_order_relaxed) ? DRAIN_MS - since : 0;
}

uint64_t
hew_purger_round(uint64_t now_ms, bool all)
{
    hew_pressure_round();
    uint64_t next = drain_depots(now_ms, all);
    HEW_EACH_ARENA(arena) /* before any pages, because arenas share them */
    {
        hew_arena_trim(arena);
        next = hew_clock_earlier(next, hew_holes_return(arena, now_ms, all));
    }
    HEW_EACH_PAGE_OWNER(arena)
    {
        hew_page_decay(arena->pages.heap, now_ms, all);
        uint64_t own = hew_page_next_ms(arena->pages.heap);
        next = hew_clock_earlier(next, own);
    }
    next = hew_clock_earlier(next, hew_guard_round(now_ms));
    bool pools = atomic_load_explicit(&hew_pool_used, memory_order_relaxed);
    return pools ? hew_clock_earlier(next, hew_pool_life_round()) : next;
}

bool
hew_purger_enabled(void)
{
    uint32_t chosen = atomic_load_explicit(&choice, memory_order_relaxed);
    return chosen == AS_SET ? hew_options.background_thread : chosen == ALLOWED;
}

/* Counts a pass of the thread; `before` is the start of the previous one. */
static uint64_t
count_round(uint64_t before)
{
    uint64_t now = hew_clock_ns();
    atomic_fetch_add_explicit(&hew_stats_background.runs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&hew_stats_background.between_ns, now - before, memory_order_relaxed);
    return now;
}

static uint64_t
rest_of(uint64_t ms)
{
    return ms < SLEEP_MIN_MS ? SLEEP_MIN_MS : ms > SLEEP_MAX_MS ? SLEEP_MAX_MS : ms;
}

/* Sleeps until the next pass. */
static void
nap(uint64_t ms)
{
    uint64_t now = hew_clock_ms(), end = now + ms;
    while (now < end && atomic_load(&stop) == 0) {
        hew_futex_wait(&stop, 0, end - now);
        now = hew_clock_ms();
    }
}

static void *
work(void *unused)
{
    uint64_t began = hew_clock_ns();
    atomic_store_explicit(&hew_stats_background.threads, 1, memory_order_relaxed);
    is_purger = true;
    hew_pressure_find(NULL);
    while (atomic_load(&stop) == 0) {
        began = count_round(began);
        uint64_t next = hew_purger_round(hew_clock_ms(), false);
        if (next != 0) {
            nap(rest_of(next));
            continue;
        }
        atomic_store(&hew_page_due, QUIET);
        /* Run another pass: work that arrived before this store did not raise hew_page_due. */
        bool quiet = hew_purger_round(hew_clock_ms(), false) == 0;
        while (quiet && atomic_load(&stop) == 0 && atomic_load(&hew_page_due) == QUIET) {
            hew_futex_wait(&hew_page_due, QUIET, 0); /* no timeout: nothing is dirty */
        }
        atomic_store(&hew_page_due, AT_WORK);
    }
    atomic_store_explicit(&hew_stats_background.threads, 0, memory_order_relaxed);
    return unused;
}

/* Runs a pass in a caller's thread when there is no purger.  Returns milliseconds to the next one, 0: nothing
 * decays. */
static uint64_t
round_of_caller(uint64_t now_ms)
{
    uint32_t callers = LEFT_TO_CALLERS, quiet = QUIET;
    uint64_t next = hew_purger_round(now_ms, false);
    if (next == 0 && atomic_compare_exchange_strong(&hew_page_due, &callers, QUIET)) {
        next = hew_purger_round(now_ms, false); /* work that arrived before did not raise hew_page_due */
        if (next != 0) {
            atomic_compare_exchange_strong(&hew_page_due, &quiet, LEFT_TO_CALLERS);
        }
    }
    return next;
}

/* Runs a pass if it is due; one caller at a time. */
static void
work_as_caller(void)
{
    uint32_t raised = RAISED;
    atomic_compare_exchange_strong(&hew_page_due, &raised, LEFT_TO_CALLERS);
    uint64_t now = hew_clock_ms(), next = atomic_load_explicit(&callers_next_ms, memory_order_relaxed);
    if (now < next || !atomic_compare_exchange_strong(&callers_next_ms, &next, UINT64_MAX)) {
        return;
    }
    int saved = errno;
    next = round_of_caller(now);
    atomic_store(&callers_next_ms, now + rest_of(next));
    errno = saved;
}

/* If creating a thread fails, it is not tried again. */
static void
start(void)
{
    /* A program's thread-local data lies on each thread's stack, and may not fit the small stack. */
    size_t stack = atomic_load(&large_stack) ? 0 : STACK_BYTES;
    bool created = hew_own_thread_create(&thread, stack, work) || hew_own_thread_create(&thread, 0, work);
    atomic_store(&thread_state, created ? RUNNING : NO_THREADS_HERE);
    if (!created) {
        atomic_store(&hew_page_due, LEFT_TO_CALLERS);
    } else if (!hew_purger_enabled()) { /* disabled in the meantime */
        hew_purger_end();
        hew_page_raise_due();
    }
}

/* Whether there is no thread and none may start. */
static bool
is_left_to_callers(uint32_t state)
{
    return !hew_purger_enabled() || state == NO_THREADS_HERE || (state == NO_THREAD && atomic_load(&start_no_more));
}

/* Whether this process borrows its parent's memory after vfork(): a thread started here would be missing in the
 * parent. */
static bool
is_guest(void)
{
    return child != 0 && hew_entry_process() != child;
}

void
hew_purger_wake(void)
{
    uint32_t raised = RAISED, none = NO_THREAD, state = atomic_load(&thread_state);
    if (is_left_to_callers(state)) {
        work_as_caller();
        return;
    }
    if ((state == NO_THREAD && is_guest()) || !atomic_compare_exchange_strong(&hew_page_due, &raised, AT_WORK)) {
        return;
    }
    int saved = errno;
    if (atomic_compare_exchange_strong(&thread_state, &none, STARTING)) {
        start();
    } else {
        hew_futex_wake(&hew_page_due, 1);
    }
    errno = saved;
}

/* libc frees thread data while it holds its lock on the list of stacks, which pthread_create() takes too.  Such a call
 * cannot be distinguished from the program's own.  But there is no such data where no other thread has ever run.  Once
 * another thread has been seen, the check is not repeated. */
static bool
may_start_in_free(void)
{
    if (!atomic_load_explicit(&may_begin_in_free, memory_order_relaxed) || is_guest()) {
        return false;
    }
    bool may = atomic_load(&hew_caches_alive) <= 1 && hew_threads_never_others();
    atomic_store_explicit(&may_begin_in_free, may, memory_order_relaxed);
    return may;
}

void
hew_purger_wake_in_free(void)
{
    uint32_t state = atomic_load(&thread_state);
    bool begins = state == NO_THREAD && !is_left_to_callers(state);
    if (!begins || may_start_in_free()) {
        hew_purger_wake();
    }
}

void
hew_purger_wake_running(void)
{
    if (atomic_load(&thread_state) == RUNNING) {
        hew_purger_wake();
    }
}

void
hew_purger_end(void)
{
    uint32_t running = RUNNING;
    if (!atomic_compare_exchange_strong(&thread_state, &running, ENDING)) {
        return;
    }
    int saved = errno;
    atomic_store(&stop, 1);
    atomic_store(&hew_page_due, AT_WORK);
    hew_futex_wake(&stop, 1);
    hew_futex_wake(&hew_page_due, 1);
    hew_own_thread_join(thread);
    atomic_store(&stop, 0);
    atomic_store(&hew_page_due, QUIET);
    atomic_store(&thread_state, NO_THREAD);
    errno = saved;
}

bool
hew_purger_enable(bool enabled)
{
    bool before = hew_purger_enabled();
    if (is_purger) {
        return before == enabled;
    }
    atomic_store_explicit(&choice, enabled ? ALLOWED : FORBIDDEN, memory_order_relaxed);
    if (!enabled) {
        hew_purger_end();
        hew_page_raise_due(); /* callers take over the work */
    } else if (atomic_load(&thread_state) ==
               NO_THREAD) { /* start at once: the program may be about to forbid itself threads */
        uint32_t callers = LEFT_TO_CALLERS;
        atomic_compare_exchange_strong(&hew_page_due, &callers, RAISED);
        hew_page_raise_due();
        hew_purger_wake();
    }
    return true;
}

void
hew_purger_start_no_more(void)
{
    atomic_store(&start_no_more, true);
}

void
hew_purger_before_hooks(void)
{
    if (is_purger || atomic_exchange(&large_stack, true)) {
        return;
    }
    if (atomic_load(&thread_state) == RUNNING) {
        hew_purger_end();
        hew_page_raise_due();
        hew_purger_wake();
    }
}

void
hew_purger_after_fork(void)
{
    uint32_t before = atomic_load(&thread_state);
    owed = owed || before == STARTING || before == RUNNING;
    if (owed) {
        hew_page_await_purger();
    }
    child = hew_entry_process();
    atomic_store(&may_begin_in_free, owed);
    atomic_store(&stop, 0);
    atomic_store(&thread_state, NO_THREAD);
    atomic_store(&hew_page_due, atomic_load(&hew_page_due) == LEFT_TO_CALLERS ? RAISED : QUIET);
    atomic_store(&callers_next_ms, 0);
    hew_pressure_after_fork();
    atomic_store_explicit(&hew_stats_background.threads, 0, memory_order_relaxed);
}

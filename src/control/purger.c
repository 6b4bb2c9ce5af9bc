/* SPDX-License-Identifier: MIT */
#include "control/purger.h"

#include "alloc/pressure.h"
#include "base/options.h"
#include "cache/depot.h"
#include "cache/kept.h"
#include "control/own_thread.h"
#include "os/clock.h"
#include "os/futex.h"
#include "pool/life.h"
#include "slab/arena.h"
#include "stats/outside.h"

#include <errno.h>
#include <pthread.h>

#define STACK_BYTES ((size_t)64 << 10)
#define SLEEP_MIN_MS 10
#define SLEEP_MAX_MS 1000
#define DRAIN_MS 250 /* between two rounds through the depots */

/* hew_page_due: 0 nothing is due and the thread, if any, sleeps; 1 raised by a heap; 2 the thread works on it. */
enum { QUIET = 0, RAISED = 1, AT_WORK = 2 };
enum { NO_THREAD, STARTING, RUNNING, ENDING, NO_THREADS_HERE };
static _Atomic uint32_t thread_state;
static pthread_t thread; /* while RUNNING or ENDING */
static _Atomic uint32_t stop;
static __thread bool is_purger;
static _Atomic bool large_stack; /* the program's hooks run in the thread */
static _Atomic bool start_no_more;

/* What the program has chosen for background_thread. */
enum { AS_SET, FORBIDDEN, ALLOWED };
static _Atomic uint32_t choice;

/* What nobody has needed of the depots between two rounds goes back.  Milliseconds to the next one, 0 when they are empty. */
static uint64_t
drain_depots(uint64_t now_ms, bool all)
{
    static _Atomic uint64_t drained_ms; /* both relaxed: two threads that drain at once do no harm */
    static _Atomic bool some_left;
    uint64_t since = now_ms - atomic_load_explicit(&drained_ms, memory_order_relaxed);
    if (all || since >= DRAIN_MS) {
        atomic_store_explicit(&drained_ms, now_ms, memory_order_relaxed);
        atomic_store_explicit(&some_left, hew_depot_drain(all), memory_order_relaxed);
        since = 0;
    }
    return atomic_load_explicit(&some_left, memory_order_relaxed) ? DRAIN_MS - since : 0;
}

uint64_t
hew_purger_round(uint64_t now_ms, bool all)
{
    if (all) {
        hew_kept_empty();
    }
    hew_pressure_round();
    uint64_t next = drain_depots(now_ms, all);
    HEW_EACH_ARENA(arena) /* before any pages: what an arena has borrowed goes home to another */
    {
        hew_arena_trim(arena);
        next = hew_clock_earlier(next, hew_holes_return(arena, now_ms, all));
    }
    HEW_EACH_ARENA(arena)
    {
        hew_page_decay(&arena->pages, now_ms, all);
        uint64_t own = hew_page_next_ms(&arena->pages);
        next = hew_clock_earlier(next, own);
    }
    bool pools = atomic_load_explicit(&hew_pool_used, memory_order_relaxed);
    return pools ? hew_clock_earlier(next, hew_pool_life_round()) : next;
}

bool
hew_purger_enabled(void)
{
    uint32_t chosen = atomic_load_explicit(&choice, memory_order_relaxed);
    return chosen == AS_SET ? hew_options.background_thread : chosen == ALLOWED;
}

/* The thread begins a round; `before` is when it began the last one. */
static uint64_t
count_round(uint64_t before)
{
    uint64_t now = hew_clock_ns();
    atomic_fetch_add_explicit(&hew_stats_background.runs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&hew_stats_background.between_ns, now - before, memory_order_relaxed);
    return now;
}

/* Until the next round. */
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
            next = next < SLEEP_MIN_MS ? SLEEP_MIN_MS : next > SLEEP_MAX_MS ? SLEEP_MAX_MS : next;
            nap(next);
            continue;
        }
        atomic_store(&hew_page_due, QUIET);
        /* Once more: what came in before this store has raised nothing. */
        bool quiet = hew_purger_round(hew_clock_ms(), false) == 0;
        while (quiet && atomic_load(&stop) == 0 && atomic_load(&hew_page_due) == QUIET) {
            hew_futex_wait(&hew_page_due, QUIET,
                           0); /* nothing is dirty, so nothing goes back that could be wanted again */
        }
        atomic_store(&hew_page_due, AT_WORK);
    }
    atomic_store_explicit(&hew_stats_background.threads, 0, memory_order_relaxed);
    return unused;
}

void
hew_purger_wake(void)
{
    uint32_t raised = RAISED, none = NO_THREAD;
    if (!hew_purger_enabled() || !atomic_compare_exchange_strong(&hew_page_due, &raised, AT_WORK)) {
        return;
    }
    int saved = errno;
    if (atomic_compare_exchange_strong(&thread_state, &none, STARTING)) {
        /* A program's thread-local data lies on each thread's stack and may be larger than our small one.  Where there
         * are to be no threads, the heaps decay as memory is freed; no further try. */
        size_t stack = atomic_load(&large_stack) ? 0 : STACK_BYTES;
        bool created = !atomic_load(&start_no_more) &&
                       (hew_own_thread_create(&thread, stack, work) || hew_own_thread_create(&thread, 0, work));
        atomic_store(&thread_state, created ? RUNNING : NO_THREADS_HERE);
        if (!hew_purger_enabled()) { /* forbidden in the meantime */
            hew_purger_end();
        }
    } else {
        hew_futex_wake(&hew_page_due, 1);
    }
    errno = saved;
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
    } else if (atomic_load(&thread_state) ==
               NO_THREAD) { /* at once: a program may be about to forbid threads to itself */
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
    atomic_store(&stop, 0);
    atomic_store(&thread_state, NO_THREAD);
    atomic_store(&hew_page_due, QUIET);
    hew_pressure_after_fork();
    atomic_store_explicit(&hew_stats_background.threads, 0, memory_order_relaxed);
}

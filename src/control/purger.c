/* SPDX-License-Identifier: MIT */
#include "control/purger.h"

#include "base/options.h"
#include "os/clock.h"
#include "os/futex.h"
#include "slab/arena.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#define STACK_BYTES ((size_t)64 << 10)
#define SLEEP_MIN_MS 10
#define SLEEP_MAX_MS 1000

/* hew_page_due: 0 nothing is due and the thread, if any, sleeps; 1 raised by a heap; 2 the thread works on it. */
enum { QUIET = 0, RAISED = 1, AT_WORK = 2 };
enum { NO_THREAD = 0, THREAD = 1, NO_THREADS_HERE = 2 };
static _Atomic uint32_t thread_state;

uint64_t
hew_purger_round(uint64_t now_ms, bool all)
{
    uint64_t next = 0;
    for (unsigned index = 0; index < HEW_ARENAS_MAX; index++) {
        struct hew_arena *arena = hew_arena_at(index);
        if (arena == NULL) {
            break;
        }
        hew_page_decay(&arena->pages, now_ms, all);
        uint64_t own = hew_page_next_ms(&arena->pages);
        next = next == 0 || (own != 0 && own < next) ? own : next;
    }
    return next;
}

static void *
work(void *unused)
{
    static _Atomic uint32_t never;
    for (;;) {
        uint64_t next = hew_purger_round(hew_clock_ms(), false);
        if (next != 0) {
            next = next < SLEEP_MIN_MS ? SLEEP_MIN_MS : next > SLEEP_MAX_MS ? SLEEP_MAX_MS : next;
            hew_futex_wait(&never, 0, next);
            continue;
        }
        atomic_store(&hew_page_due, QUIET);
        while (atomic_load(&hew_page_due) == QUIET) {
            hew_futex_wait(&hew_page_due, QUIET, 0);
        }
        atomic_store(&hew_page_due, AT_WORK);
    }
    return unused;
}

static void
start(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    bool started = false;
    sigfillset(&all);
    if (pthread_attr_init(&attributes) == 0) {
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        pthread_sigmask(SIG_BLOCK, &all, &before);
        started = pthread_create(&thread, &attributes, work, NULL) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
    }
    if (!started) { /* the heaps then decay as memory is freed; no second try */
        atomic_store(&thread_state, NO_THREADS_HERE);
    }
}

void
hew_purger_wake(void)
{
    uint32_t raised = RAISED, none = NO_THREAD;
    if (!hew_options.background_thread || !atomic_compare_exchange_strong(&hew_page_due, &raised, AT_WORK)) {
        return;
    }
    int saved = errno;
    if (atomic_compare_exchange_strong(&thread_state, &none, THREAD)) {
        start();
    } else {
        hew_futex_wake(&hew_page_due, 1);
    }
    errno = saved;
}

void
hew_purger_after_fork(void)
{
    atomic_store(&thread_state, NO_THREAD);
    atomic_store(&hew_page_due, QUIET);
}

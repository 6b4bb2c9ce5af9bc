/* SPDX-License-Identifier: MIT */
/*
 * fork: no other thread holds a lock while the process is copied, so the child finds each structure consistent.
 *
 * The thread that forks closes the gate (os/gate.h).  It then checks every lock, in the order of their ranks, until no
 * thread holds it.  It writes no lock and holds none.  So the program's own handlers can allocate, whichever handler
 * was registered first.  A handler that waits for another thread, which itself waits for the gate, would wait forever.
 * So a constructor registers hew's handlers before all others, and they run closest to the fork itself.
 *
 * A process with one thread does nothing: no other thread can be in the middle of an operation, and the child continues
 * with what it inherits.  The same holds for a thread that forks in a signal handler which interrupted it under a lock:
 * it would wait for itself.  Its child should exec or end, as POSIX demands after such a fork.
 */
#include "api/boot.h"
#include "api/stats_due.h"
#include "cache/depot.h"
#include "cache/explicit.h"
#include "cache/thread.h"
#include "control/mallctl/ctl_tree.h"
#include "control/purger.h"
#include "control/remote/remote.h"
#include "guard/slots.h"
#include "meta/map.h"
#include "meta/memory.h"
#include "os/memory.h"
#include "os/object.h"
#include "pool/life.h"
#include "prof/dump.h"
#include "prof/profiler.h"
#include "slab/arena_life.h"
#include "slab/reserve.h"
#include "stats/snapshot.h"

#include <pthread.h>
#pragma weak pthread_atfork

HEW_WEAK int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *library);

/* glibc's flag: false from before the first pthread_create() until libc knows that there is one thread again.  Other
 * and old libcs do not have it. */
extern HEW_WEAK char __libc_single_threaded;

static _Atomic bool registered; /* by the constructor, or by an earlier malloc: one thread exists */

typedef void (*mutex_action)(struct hew_mutex *mutex);

static void
settle(struct hew_mutex *mutex)
{
    hew_mutex_settle(mutex);
}

static void
begin_anew(struct hew_mutex *mutex)
{
    hew_mutex_after_fork(mutex);
}

/* Locks that rank above the bins. */
static void
each_outer_mutex(mutex_action act)
{
    act(&hew_dump_lock);
    act(&hew_ctl_lock);
    act(&hew_stats_lock);
    if (atomic_load_explicit(&hew_pool_used, memory_order_relaxed)) {
        hew_pool_life_each_mutex(act);
    }
    act(&hew_caches_lock);
    act(&hew_arenas_lock);
    act(&hew_holes_lock); /* while it is free, no region is checked out */
}

/* Settles only the used bins: with many arenas most bins are unused.  A thread that holds the lock of a bin without
 * slabs changes nothing in it, and reads only that it is empty.  Before the first slab arrives, the bin joins the used
 * ones: struct hew_arena. */
static void
settle_bins(void)
{
    HEW_EACH_ARENA(arena)
    {
        HEW_EACH_USED_BIN(arena, code)
        {
            hew_mutex_settle(&arena->bins[code].lock);
        }
    }
}

static void
begin_bins_anew(void)
{
    HEW_EACH_ARENA(arena)
    {
        for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
            hew_mutex_after_fork(&arena->bins[code].lock);
        }
    }
}

/* Locks that rank below the bins, in order: reserve, pages, guard, map, prof, event, meta, data.  hew_arenas_lock is settled,
 * so each call finds the same arenas. */
static void
each_inner_mutex(mutex_action act)
{
    act(&hew_reserve_lock);
    HEW_EACH_PAGE_OWNER(arena)
    {
        act(&arena->pages.heap->lock);
    }
    act(&hew_guard_lock);
    act(&hew_map_lock);
    act(&hew_prof_lock);
    act(&hew_event_lock);
    hew_meta_each_mutex(act);
    act(&hew_os_data_lock);
}

HEW_COLD static void
become_single(void)
{
    hew_os_object_after_fork(true);
    hew_gate_after_fork();
    each_outer_mutex(begin_anew);
    begin_bins_anew();
    each_inner_mutex(begin_anew);
    hew_arena_life_after_fork();
    HEW_EACH_PAGE_OWNER(arena)
    {
        hew_page_after_fork(arena->pages.heap);
    }
    hew_prof_after_fork();
    hew_thread_after_fork();
    hew_depot_after_fork();
    if (atomic_load_explicit(&hew_pool_used, memory_order_relaxed)) {
        hew_pool_life_after_fork();
    }
    hew_explicit_after_fork();
    hew_purger_after_fork();
    hew_remote_after_fork();
    hew_stats_after_fork();
}

HEW_COLD static void
stop_others(void)
{
    hew_os_object_before_fork(); /* before all locks: a searching thread may wait for one */
    hew_gate_close(become_single);
    each_outer_mutex(settle);
    hew_depot_settle(); /* the holder of a per-CPU cache's try-lock may take hew_meta_lock */
    settle_bins();
    each_inner_mutex(settle);
}

static void
before_fork(void)
{
    if (hew_gate_held == 0 && (&__libc_single_threaded == NULL || !__libc_single_threaded)) {
        stop_others();
    }
}

static void
after_fork_in_parent(void)
{
    if (hew_gate_is_mine()) {
        hew_gate_open();
        hew_os_object_after_fork(false);
    }
}

/* Does nothing if a handler that ran earlier asked for a lock: that has called become_single() already. */
static void
after_fork_in_child(void)
{
    if (hew_gate_is_mine()) {
        become_single();
    } else if (hew_gate_is_closed()) { /* by a thread that is not here */
        hew_gate_forget();
    }
}

/*
 * Runs before any other code of the program or of another library.  cmake/library.cmake makes glibc's loader start with
 * hew (initfirst).  In a static program the priority puts it before all constructors without one.  Elsewhere a library
 * that does not depend on hew may run earlier.  It uses nothing that might not be ready yet: it makes only this call.
 */
__attribute__((constructor(101))) static void
register_first(void)
{
    hew_fork_register();
}

void
hew_fork_register(void)
{
    /* Set first, because the call below may allocate.  An exchange instead of a read and a write: the page is fresh,
     * and would fault twice. */
    if (atomic_exchange_explicit(&registered, true, memory_order_relaxed)) {
        return;
    }
    /* The function that glibc's pthread_atfork() calls.  glibc links pthread_atfork() itself as a stub at the very end
     * of each shared library that needs that name.  The stub would bring hew's last 64 KiB into every process.  musl
     * has pthread_atfork() in libc. */
    if (__register_atfork != NULL) {
        __register_atfork(before_fork, after_fork_in_parent, after_fork_in_child, NULL);
    } else if (pthread_atfork != NULL) {
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * fork: nobody else holds a lock while the process is copied, so that the child finds each structure whole.
 *
 * The thread that forks closes the gate (os/gate.h) and looks at every lock, in the order of their ranks, until nobody holds
 * it.  None is written, and none is held: what the program's own handlers allocate, they get, whichever of us was registered
 * first.  A handler that waits for another thread, which waits for the gate, would wait for ever; so ours are registered
 * before all others, by a constructor, and run closest to the fork itself.
 *
 * A process with one thread does nothing: nobody else can be in the middle of anything, and what the child inherits is what
 * it goes on with.
 */
#include "api/boot.h"
#include "api/stats_due.h"
#include "cache/depot.h"
#include "cache/explicit.h"
#include "cache/thread.h"
#include "control/mallctl/ctl_tree.h"
#include "control/purger.h"
#include "control/remote/remote.h"
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

/* False from before the first pthread_create() on, until libc knows better; absent in other libcs and old ones. */
extern HEW_WEAK char __libc_single_threaded;

static _Atomic bool registered; /* by the constructor, or a first call of malloc before it: there is one thread yet */
static bool under_way;          /* fork(), behind a closed gate: written by whoever has closed it */

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

/* Ranks above the bins. */
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
    act(&hew_holes_lock); /* no region is out while nobody holds it */
}

/* Who holds the lock of a bin that has had no slab changes nothing there, and reads nothing but that it is empty; before the first one comes the bin is among
 * the used ones: struct hew_arena.  With many arenas most are not. */
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

/* Ranks below the bins, in their order: reserve, pages, map, prof, event, meta, data.  With hew_arenas_lock settled, so that each call
 * finds the same arenas. */
static void
each_inner_mutex(mutex_action act)
{
    act(&hew_reserve_lock);
    HEW_EACH_PAGE_OWNER(arena)
    {
        act(&arena->pages.heap->lock);
    }
    act(&hew_map_lock);
    act(&hew_prof_lock);
    act(&hew_event_lock);
    hew_meta_each_mutex(act);
    act(&hew_os_data_lock);
}

HEW_COLD static void
become_single(void)
{
    under_way = false;
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
    hew_os_object_before_fork(); /* outside of all locks: who searches may be waiting for one */
    hew_gate_close(become_single);
    each_outer_mutex(settle);
    hew_depot_settle(); /* under a mark hew_meta_lock may be taken */
    settle_bins();
    each_inner_mutex(settle);
    under_way = true;
}

static void
before_fork(void)
{
    if (&__libc_single_threaded == NULL || !__libc_single_threaded) {
        stop_others();
    }
}

static void
after_fork_in_parent(void)
{
    if (under_way) {
        under_way = false;
        hew_gate_open();
        hew_os_object_after_fork(false);
    }
}

/* Not the first to be called, when a handler that came before has asked for a lock. */
static void
after_fork_in_child(void)
{
    if (under_way) {
        become_single();
    }
}

/*
 * Before any other code of the program or of another library: cmake/library.cmake has glibc's loader start with us
 * (initfirst), and in a static program the number puts us before all constructors without one.  Elsewhere a library that does not
 * depend on us may be earlier.  Nothing is asked for that might not be ready yet: the call below is all.
 */
__attribute__((constructor(101))) static void
register_first(void)
{
    hew_fork_register();
}

void
hew_fork_register(void)
{
    /* First, since the call below may allocate.  Not a read and then a write: the page is fresh, and would fault twice. */
    if (atomic_exchange_explicit(&registered, true, memory_order_relaxed)) {
        return;
    }
    /* What glibc's pthread_atfork() calls.  That one is a stub at the very end of a shared library, which would bring the
     * last 64 KiB of ours into every process, and needs that name.  musl has it in libc. */
    if (__register_atfork != NULL) {
        __register_atfork(before_fork, after_fork_in_parent, after_fork_in_child, NULL);
    } else if (pthread_atfork != NULL) {
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    }
}

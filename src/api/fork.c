/* SPDX-License-Identifier: MIT */
/*
 * fork: every lock is held across fork(), in the order of their ranks, so that the child finds each structure whole.
 *
 * A process with one thread takes none: nobody else can be in the middle of anything, and what the child inherits is what
 * it goes on with.  Each lock that was taken, and each that is made new, would be a page of ours which parent and child no longer share.
 */
#include "api/boot.h"
#include "api/stats_due.h"
#include "cache/depot.h"
#include "cache/explicit.h"
#include "cache/thread.h"
#include "control/ctl_tree.h"
#include "control/purger.h"
#include "control/remote.h"
#include "meta/map.h"
#include "meta/memory.h"
#include "pool/life.h"
#include "prof/dump.h"
#include "prof/profiler.h"
#include "slab/arena_life.h"
#include "slab/reserve.h"
#include "stats/snapshot.h"

#include <pthread.h>

HEW_WEAK int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *library);

/* False from before the first pthread_create() on, until libc knows better; absent in other libcs and old ones. */
extern HEW_WEAK char __libc_single_threaded;

static bool holding; /* fork() is under way, with every lock taken */

typedef void (*mutex_action)(struct hew_mutex *mutex);

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

static void
begin_anew(struct hew_mutex *mutex)
{
    hew_mutex_after_fork(mutex);
}

/* Ranks above the table of arenas. */
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
}

/* In the order of ranks: bins, reserve, pages, map, prof, event, meta.  Under hew_arenas_lock, so that each call finds the same arenas. */
static void
each_inner_mutex(mutex_action act)
{
    HEW_EACH_ARENA(arena)
    {
        for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
            act(&arena->bins[code].lock);
        }
    }
    act(&hew_reserve_lock);
    HEW_EACH_ARENA(arena)
    {
        act(&arena->pages.lock);
    }
    act(&hew_map_lock);
    act(&hew_prof_lock);
    act(&hew_event_lock);
    act(&hew_meta_lock);
}

HEW_COLD static void
hold(void)
{
    each_outer_mutex(lock);
    each_inner_mutex(lock);
    holding = true;
}

HEW_COLD static void
let_go(void)
{
    holding = false;
    each_inner_mutex(unlock);
    each_outer_mutex(unlock);
}

HEW_COLD static void
become_single(void)
{
    holding = false;
    each_outer_mutex(begin_anew);
    each_inner_mutex(begin_anew);
    hew_arena_life_after_fork();
    HEW_EACH_ARENA(arena)
    {
        hew_page_after_fork(&arena->pages);
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

static void
before_fork(void)
{
    if (&__libc_single_threaded == NULL || !__libc_single_threaded) {
        hold();
    }
}

static void
after_fork_in_parent(void)
{
    if (holding) {
        let_go();
    }
}

static void
after_fork_in_child(void)
{
    if (holding) {
        become_single();
    }
}

void
hew_fork_register(void)
{
    /* What glibc's pthread_atfork() calls.  That one is a stub at the very end of a shared library, which would bring the
     * last 64 KiB of ours into every process. */
    if (__register_atfork != NULL) {
        __register_atfork(before_fork, after_fork_in_parent, after_fork_in_child, NULL);
    } else {
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    }
}

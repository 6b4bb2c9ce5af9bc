/* SPDX-License-Identifier: MIT */
/*
 * fork: every lock is held across fork(), in the order of their ranks, so that the child finds each structure whole.
 */
#include "api/boot.h"
#include "cache/thread.h"
#include "control/ctl_tree.h"
#include "control/purger.h"
#include "meta/map.h"
#include "meta/memory.h"

#include <pthread.h>

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

/* In the order of ranks: ctl, caches, arenas, bins, pages, map, meta. */
static void
each_mutex(mutex_action act)
{
    act(&hew_ctl_lock);
    act(&hew_caches_lock);
    act(&hew_arenas_lock);
    for (unsigned index = 0; index < HEW_ARENAS_MAX && hew_arena_at(index) != NULL; index++) {
        for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
            act(&hew_arena_at(index)->bins[code].lock);
        }
    }
    for (unsigned index = 0; index < HEW_ARENAS_MAX && hew_arena_at(index) != NULL; index++) {
        act(&hew_arena_at(index)->pages.lock);
    }
    act(&hew_map_lock);
    act(&hew_meta_lock);
}

static void
before_fork(void)
{
    each_mutex(lock);
}

static void
after_fork_in_parent(void)
{
    each_mutex(unlock);
}

static void
after_fork_in_child(void)
{
    each_mutex(begin_anew);
    for (unsigned index = 0; index < HEW_ARENAS_MAX && hew_arena_at(index) != NULL; index++) {
        hew_page_after_fork(&hew_arena_at(index)->pages);
    }
    hew_thread_after_fork();
    hew_purger_after_fork();
}

void
hew_fork_register(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* SPDX-License-Identifier: MIT */
#include "stats/snapshot.h"

#include "cache/kept.h"
#include "cache/thread.h"
#include "meta/memory.h"
#include "prof/dump.h"
#include "prof/table.h"
#include "slab/arena_life.h"
#include "stats/gather.h"

#include <string.h>

struct hew_mutex hew_stats_lock = HEW_MUTEX(stats);

/* Written under hew_stats_lock; any thread reads it, relaxed: to read the snapshot it must take the lock.  0: none
 * yet. */
static _Atomic uint64_t epoch;
/* All guarded by hew_stats_lock. */
static struct hew_stats_arena *arenas[HEW_ARENAS_MAX]; /* NULL: never in a snapshot; not ->present: not in this one */
static unsigned arenas_end;                            /* index of the last one, plus 1 */
static struct hew_stats_arena merged, just_made;       /* just_made: all 0, for an arena created after the snapshot */
static struct hew_stats_arena *destroyed;              /* the sum of destroyed arenas; NULL while there is none */
static struct hew_stats_totals totals;
static struct hew_stats_depot depot;
static struct hew_stats_mutex global_mutexes[HEW_STATS_GLOBAL_MUTEXES];

/* Allocates space for every arena that exists.  False without memory; the snapshot stays as it is. */
static bool
make_room(unsigned end)
{
    for (unsigned index = 0; index < end; index++) {
        if (arenas[index] == NULL && hew_arena_at(index) != NULL) {
            arenas[index] = hew_meta_take(sizeof *arenas[index]);
            if (arenas[index] == NULL) {
                return false;
            }
        }
    }
    if (destroyed == NULL && hew_arenas_destroyed() != NULL) {
        destroyed = hew_meta_take(sizeof *destroyed);
        return destroyed != NULL;
    }
    return true;
}

static void
gather_arenas(unsigned end)
{
    for (unsigned index = 0; index < end; index++) {
        struct hew_arena *live = hew_arena_at(index);
        if (arenas[index] != NULL) {
            memset(arenas[index], 0, sizeof *arenas[index]);
        }
        if (arenas[index] != NULL && live != NULL) { /* an arena created after make_room() is left out */
            hew_gather_arena(live, arenas[index]);
            arenas[index]->present = true;
        }
    }
    for (unsigned index = 0; index < end; index++) {
        struct hew_arena *live = hew_arena_at(index);
        if (arenas[index] == NULL || !arenas[index]->present) {
            continue;
        }
        if (live != NULL) {
            hew_gather_pages(live, arenas[index], arenas, end);
        } else { /* destroyed since: the sum of destroyed arenas, read later, has its counts */
            memset(arenas[index], 0, sizeof *arenas[index]);
        }
    }
    arenas_end = end;
    hew_gather_caches(arenas, end);
    hew_gather_depot(&depot, arenas[0]);
}

/* Destroyed arenas: only their past counts; they hold nothing. */
static void
gather_destroyed(void)
{
    if (destroyed == NULL) {
        return;
    }
    memset(destroyed, 0, sizeof *destroyed);
    hew_gather_arena(hew_arenas_destroyed(), destroyed);
    hew_gather_pages(hew_arenas_destroyed(), destroyed, NULL, 0);
    hew_gather_requests(hew_arenas_destroyed(), destroyed);
    hew_gather_finish(destroyed);
    destroyed->base = destroyed->resident = destroyed->mapped = destroyed->metadata_edata = 0;
    destroyed->dirty_decay_ms = destroyed->muzzy_decay_ms = UINT64_MAX;
    destroyed->dss = "N/A";
}

/* hew's own data that belongs to no arena is counted in the first one. */
static void
gather_shared(void)
{
    struct hew_meta_usage meta = hew_meta_usage();
    size_t known = 0, regions = 0;
    for (unsigned index = 0; index < arenas_end; index++) {
        if (arenas[index] != NULL) {
            known += arenas[index]->base;
            regions += arenas[index]->mapped + arenas[index]->retained;
        }
    }
    arenas[0]->metadata_rtree = hew_map_bytes(regions);
    arenas[0]->base += arenas[0]->metadata_rtree + (meta.touched > known ? meta.touched - known : 0);
    hew_gather_mutex(&hew_meta_lock, &arenas[0]->mutexes[HEW_STATS_ARENA_base]);
    hew_gather_mutex(&hew_caches_lock, &arenas[0]->mutexes[HEW_STATS_ARENA_tcache_list]);
}

static void
sum_up(void)
{
    memset(&merged, 0, sizeof merged);
    for (unsigned index = 0; index < arenas_end; index++) {
        if (arenas[index] != NULL && arenas[index]->present) {
            hew_gather_finish(arenas[index]);
            hew_gather_merge(&merged, arenas[index]);
        }
    }
    totals = (struct hew_stats_totals){
        .allocated = merged.small.allocated + merged.large.allocated,
        .active = merged.pactive * HEW_PAGE,
        .metadata = merged.base,
        .metadata_edata = merged.metadata_edata,
        .metadata_rtree = merged.metadata_rtree,
        .resident = merged.resident,
        .mapped = merged.mapped,
        .retained = merged.retained,
    };
}

/* Lock held.  `dump` has the counters of hew_dump_lock, which ranks before it. */
static bool
take(const struct hew_stats_mutex *dump)
{
    unsigned end = hew_arenas_count();
    if (hew_arena_get(0) == NULL || !make_room(end)) {
        return false;
    }
    gather_arenas(end);
    gather_shared();
    gather_destroyed();
    sum_up();
    hew_gather_held_mutex(&hew_stats_lock, &global_mutexes[HEW_STATS_GLOBAL_ctl]);
    hew_gather_mutex(&hew_prof_lock, &global_mutexes[HEW_STATS_GLOBAL_prof]);
    global_mutexes[HEW_STATS_GLOBAL_prof_dump] = *dump;
    atomic_fetch_add_explicit(&epoch, 1, memory_order_relaxed);
    return true;
}

bool
hew_stats_take(void)
{
    hew_kept_empty();
    struct hew_stats_mutex dump;
    hew_gather_mutex(&hew_dump_lock, &dump);
    hew_mutex_lock(&hew_stats_lock);
    bool taken = take(&dump);
    hew_mutex_unlock(&hew_stats_lock);
    return taken;
}

uint64_t
hew_stats_epoch(void)
{
    uint64_t now = atomic_load_explicit(&epoch, memory_order_relaxed);
    return now != 0 || hew_stats_take() ? now + (now == 0) : 0;
}

struct hew_stats_totals
hew_stats_totals(void)
{
    hew_mutex_lock(&hew_stats_lock);
    struct hew_stats_totals copy = totals;
    hew_mutex_unlock(&hew_stats_lock);
    /* Not from the snapshot: as in jemalloc, a program sees its own last call at once. */
    copy.zero_reallocs = atomic_load_explicit(&hew_stats_zero_reallocs, memory_order_relaxed);
    return copy;
}

struct hew_stats_depot
hew_stats_depot(void)
{
    hew_mutex_lock(&hew_stats_lock);
    struct hew_stats_depot copy = depot;
    hew_mutex_unlock(&hew_stats_lock);
    return copy;
}

struct hew_stats_mutex
hew_stats_global_mutex(unsigned mutex)
{
    hew_mutex_lock(&hew_stats_lock);
    struct hew_stats_mutex copy = global_mutexes[mutex];
    hew_mutex_unlock(&hew_stats_lock);
    return copy;
}

/* Lock held.  NULL when there is no such arena. */
static const struct hew_stats_arena *
find(unsigned index)
{
    if (index == HEW_STATS_ALL || index == hew_arenas_count()) {
        return &merged;
    }
    if (index == HEW_STATS_DESTROYED) {
        return destroyed;
    }
    if (index < arenas_end && arenas[index] != NULL && arenas[index]->present) {
        return arenas[index];
    }
    just_made.dss = merged.dss;
    return index < HEW_ARENAS_MAX && hew_arena_at(index) != NULL ? &just_made : NULL;
}

bool
hew_stats_has_arena(unsigned index)
{
    hew_mutex_lock(&hew_stats_lock);
    bool found = find(index) != NULL;
    hew_mutex_unlock(&hew_stats_lock);
    return found;
}

bool
hew_stats_arena_number(unsigned index, size_t offset, uint64_t *number)
{
    hew_mutex_lock(&hew_stats_lock);
    const struct hew_stats_arena *arena = find(index);
    if (arena != NULL) {
        memcpy(number, (const char *)arena + offset, sizeof *number);
    }
    hew_mutex_unlock(&hew_stats_lock);
    return arena != NULL;
}

bool
hew_stats_copy_arena(unsigned index, struct hew_stats_arena *into)
{
    hew_mutex_lock(&hew_stats_lock);
    const struct hew_stats_arena *arena = find(index);
    if (arena != NULL) {
        memcpy(into, arena, sizeof *into);
    }
    hew_mutex_unlock(&hew_stats_lock);
    return arena != NULL;
}

static void
reset(struct hew_mutex *mutex)
{
    hew_mutex_lock(mutex);
    hew_mutex_reset_counts(mutex);
    hew_mutex_unlock(mutex);
}

void
hew_stats_reset_mutexes(void)
{
    reset(&hew_dump_lock);
    hew_mutex_lock(&hew_stats_lock);
    hew_mutex_reset_counts(&hew_stats_lock);
    reset(&hew_prof_lock);
    reset(&hew_caches_lock);
    reset(&hew_meta_lock);
    HEW_EACH_ARENA(arena)
    {
        for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
            reset(&arena->bins[code].lock);
        }
        reset(&arena->own_pages.lock);
    }
    hew_mutex_unlock(&hew_stats_lock);
}

/* SPDX-License-Identifier: MIT */
/*
 * peak: reads the owners' own counters without the snapshot's tables: a sample costs a microsecond and no memory.
 */
#include "stats/peak.h"

#include "cache/count.h"
#include "cache/depot.h"
#include "cache/thread.h"
#include "meta/memory.h"
#include "slab/arena_life.h"
#include "stats/snapshot.h"

static struct hew_stats_peak peak; /* guarded by hew_stats_lock */

struct sums {
    struct hew_stats_peak now;
    size_t slabs, objects, active; /* bytes of slabs, of objects allocated from them, and of all active pages */
    size_t regions;                /* bytes of mappings */
};

static void
add_bins(struct hew_arena *arena, struct sums *sums)
{
    HEW_EACH_USED_BIN(arena, code)
    {
        struct hew_bin *bin = &arena->bins[code];
        hew_mutex_lock(&bin->lock);
        size_t objects = (size_t)(bin->counts.nmalloc - bin->counts.ndalloc) * hew_slab_shapes[code].size;
        size_t slabs = bin->counts.slabs * hew_slab_shapes[code].pages * HEW_PAGE, holes = bin->counts.holes;
        hew_mutex_unlock(&bin->lock);
        sums->objects += objects;
        sums->slabs += slabs;
        sums->now.slabs += slabs - objects - holes;
    }
}

static void
add_arena(struct hew_arena *arena, struct sums *sums)
{
    add_bins(arena, sums);
    size_t large = atomic_load_explicit(&arena->large_bytes, memory_order_relaxed);
    sums->objects += large;
    sums->slabs += large;
    if (!hew_arena_owns_pages(arena)) {
        return;
    }
    struct hew_page_counts pages = hew_page_counts(arena->pages.heap);
    sums->active += pages.active;
    sums->regions += pages.mapped;
    sums->now.idle += pages.dirty + pages.muzzy;
}

static void
add_cache(const struct hew_cache *cache, void *context)
{
    struct sums *sums = context;
    sums->now.thread_caches += hew_count_apart(cache);
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        sums->now.thread_caches += hew_count_held(cache, code);
    }
}

static uint64_t
less(uint64_t whole, uint64_t part)
{
    return whole < part ? 0 : whole - part;
}

void
hew_stats_peak_look(void)
{
    if (!hew_mutex_try_lock(&hew_stats_lock)) {
        return;
    }
    atomic_store_explicit(&hew_page_grown, false, memory_order_relaxed);
    struct sums sums = {0};
    HEW_EACH_ARENA(arena)
    {
        add_arena(arena, &sums);
    }
    hew_thread_each(add_cache, &sums);
    struct hew_stats_peak *now = &sums.now;
    now->depots = hew_depot_counts().bytes;
    now->metadata = hew_meta_usage().touched + hew_map_bytes(sums.regions);
    now->live = less(sums.objects, now->thread_caches + now->depots);
    now->kept = less(sums.active, sums.slabs);
    now->resident = now->live + now->thread_caches + now->depots + now->slabs + now->kept + now->idle + now->metadata;
    if (now->resident > peak.resident) {
        peak = *now;
    }
    hew_mutex_unlock(&hew_stats_lock);
}

struct hew_stats_peak
hew_stats_peak(void)
{
    hew_mutex_lock(&hew_stats_lock);
    struct hew_stats_peak copy = peak;
    hew_mutex_unlock(&hew_stats_lock);
    return copy;
}

/* SPDX-License-Identifier: MIT */
#include "stats/gather.h"

#include "base/options.h"
#include "cache/budget.h"
#include "cache/count.h"
#include "cache/depot.h"
#include "cache/thread.h"
#include "slab/arena_life.h"

#include <string.h>

void
hew_gather_held_mutex(const struct hew_mutex *mutex, struct hew_stats_mutex *into)
{
    into->num_ops = mutex->operations;
    into->num_wait = mutex->waits;
    into->num_spin_acq = mutex->spin_acquisitions;
    into->num_owner_switch = mutex->owner_switches;
    into->total_wait_time = mutex->total_wait_ns;
    into->max_wait_time = mutex->max_wait_ns;
    into->max_num_thds = mutex->max_waiting;
}

void
hew_gather_mutex(struct hew_mutex *mutex, struct hew_stats_mutex *into)
{
    hew_mutex_lock(mutex);
    hew_gather_held_mutex(mutex, into);
    hew_mutex_unlock(mutex);
}

static void
gather_bin(struct hew_arena *arena, unsigned code, struct hew_stats_arena *into_arena)
{
    struct hew_bin *bin = &arena->bins[code];
    struct hew_stats_bin *into = &into_arena->bins[code - 1];
    hew_mutex_lock(&bin->lock);
    struct hew_bin_counts counts = bin->counts;
    hew_gather_held_mutex(&bin->lock, &into->mutex);
    hew_mutex_unlock(&bin->lock);
    into->nmalloc = counts.nmalloc;
    into->ndalloc = counts.ndalloc;
    into->curregs = counts.nmalloc - counts.ndalloc;
    into->nfills = counts.fills;
    into->nflushes = counts.flushes;
    into->nslabs = counts.slabs_ever;
    into->nreslabs = counts.reslabs;
    into->curslabs = counts.slabs;
    into->nonfull_slabs = counts.nonfull;
    into_arena->holes += counts.holes;
    into_arena->holes_purged += counts.holes_purged;
    into_arena->holes_refaulted += counts.holes_refaulted;
    into_arena->holes_nmadvise += counts.holes_calls;
}

static void
gather_lextent(const struct hew_arena *arena, unsigned index, struct hew_stats_lextent *into)
{
    const struct hew_large_counts *counts = &arena->large[index];
    /* Read the frees first: each object was allocated before, so the difference is never below 0. */
    into->ndalloc = atomic_load_explicit(&counts->ndalloc, memory_order_acquire);
    into->nmalloc = atomic_load_explicit(&counts->nmalloc, memory_order_relaxed);
    into->curlextents = into->nmalloc - into->ndalloc;
    uint64_t reused = atomic_load_explicit(&counts->reused, memory_order_relaxed);
    into->ndalloc += reused;
    into->nmalloc += reused;
    into->nrequests = reused + atomic_load_explicit(&counts->nrequests, memory_order_relaxed);
}

/* Bytes of the arena's slabs and large objects: never less than the bytes allocated in them. */
static size_t
bytes_in_use(const struct hew_stats_arena *arena)
{
    size_t bytes = arena->large.allocated;
    for (unsigned bin = 0; bin < HEW_STATS_BINS; bin++) {
        bytes += arena->bins[bin].curslabs * hew_slab_shapes[bin + 1].pages * HEW_PAGE;
    }
    return bytes;
}

/* Bytes of active pages of the other arenas that use the heap of `owner`. */
static size_t
bytes_of_sharers(const struct hew_arena *owner, struct hew_stats_arena *const *arenas, unsigned count)
{
    size_t bytes = 0;
    for (unsigned index = owner->index + 1u; index < owner->index + HEW_PAGE_CLIENTS && index < count; index++) {
        const struct hew_arena *arena = hew_arena_at(index);
        if (arena != NULL && arenas[index] != NULL && arena->pages.heap == owner->pages.heap) {
            bytes += hew_bits_round_up(bytes_in_use(arenas[index]), HEW_PAGE);
        }
    }
    return bytes;
}

static void
gather_heap(struct hew_page_heap *heap, size_t of_sharers, struct hew_stats_arena *into)
{
    static struct hew_page_bucket
        buckets[HEW_STOCK_BUCKETS]; /* guarded by hew_stats_lock; too large for a small stack */
    struct hew_page_counts counts = hew_page_census(heap, buckets);
    for (unsigned bucket = 0; bucket < HEW_STOCK_BUCKETS; bucket++) {
        into->extents[bucket] = (struct hew_stats_extents){
            .ndirty = buckets[bucket].dirty.extents,
            .nmuzzy = buckets[bucket].muzzy.extents,
            .nretained = buckets[bucket].retained.extents,
            .dirty_bytes = buckets[bucket].dirty.bytes,
            .muzzy_bytes = buckets[bucket].muzzy.bytes,
            .retained_bytes = buckets[bucket].retained.bytes,
        };
    }
    /* The classes were read earlier, and threads keep running: an object counted there may be gone by now, or a new
     * slab may not be in its bin yet.  The larger value was true at one of the two moments. */
    size_t in_use = into->mapped, own = counts.active > of_sharers ? counts.active - of_sharers : 0;
    size_t active = own > in_use ? own : in_use;
    into->pactive = active / HEW_PAGE;
    into->pdirty = counts.dirty / HEW_PAGE;
    into->pmuzzy = counts.muzzy / HEW_PAGE;
    into->dirty_npurge = counts.dirty_purges;
    into->dirty_nmadvise = counts.dirty_calls;
    into->dirty_purged = counts.dirty_purged / HEW_PAGE;
    into->muzzy_npurge = counts.muzzy_purges;
    into->muzzy_nmadvise = counts.muzzy_calls;
    into->muzzy_purged = counts.muzzy_purged / HEW_PAGE;
    into->mapped = active + counts.dirty + counts.muzzy;
    into->retained = counts.retained;
    into->pieces_moved = counts.pieces_moved;
    into->bytes_moved = counts.bytes_moved;
    into->abandoned_vm = counts.abandoned;
    into->extent_avail = counts.spare_structs;
    into->metadata_edata = counts.structs * sizeof(struct hew_extent);
}

void
hew_gather_pages(struct hew_arena *arena, struct hew_stats_arena *into, struct hew_stats_arena *const *arenas,
                 unsigned count)
{
    size_t in_use = hew_bits_round_up(bytes_in_use(into), HEW_PAGE);
    into->mapped = in_use;
    into->pactive = in_use / HEW_PAGE;
    if (hew_arena_owns_pages(arena)) {
        gather_heap(arena->pages.heap, bytes_of_sharers(arena, arenas, count), into);
        hew_gather_mutex(&arena->pages.heap->lock, &into->mutexes[HEW_STATS_ARENA_extents_dirty]);
    }
    into->base = sizeof *arena + into->metadata_edata;
}

static const char *
dss_word(enum hew_dss dss)
{
    const struct hew_option *option = hew_option_table;
    while (strcmp(option->name, "dss") != 0) {
        option++;
    }
    return hew_option_words(option)[dss];
}

void
hew_gather_arena(struct hew_arena *arena, struct hew_stats_arena *into)
{
    if (hew_arena_owns_pages(arena)) {
        hew_page_sweep(arena->pages.heap);
    }
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        gather_bin(arena, code, into);
    }
    for (unsigned index = 0; index < HEW_LARGE_CLASSES; index++) {
        gather_lextent(arena, index, &into->lextents[index]);
    }
    into->large.allocated = atomic_load_explicit(&arena->large_bytes, memory_order_relaxed);
    into->nthreads = atomic_load_explicit(&arena->threads, memory_order_relaxed);
    into->uptime = hew_arena_uptime_ns(arena);
    into->dirty_decay_ms = (uint64_t)hew_arena_decay_ms(arena, HEW_DECAY_DIRTY);
    into->muzzy_decay_ms = (uint64_t)hew_arena_decay_ms(arena, HEW_DECAY_MUZZY);
    into->dss = dss_word(hew_arena_dss(arena));
    hew_arena_get_name(arena, into->name);
}

static uint64_t *
requests_of(struct hew_stats_arena *arena, unsigned code)
{
    return code <= HEW_CODE_SMALL_LAST ? &arena->bins[code - 1].nrequests
                                       : &arena->lextents[code - HEW_CODE_SMALL_LAST - 1].nrequests;
}

void
hew_gather_requests(const struct hew_arena *arena, struct hew_stats_arena *into)
{
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        *requests_of(into, code) += atomic_load_explicit(&arena->requests[code], memory_order_relaxed);
    }
}

struct arenas {
    struct hew_stats_arena *const *at;
    unsigned count;
    bool begun;
};

/* hew_caches_lock held: an ending thread moves its requests to its arena under this lock, so they are counted once. */
static void
begin(struct arenas *arenas)
{
    for (unsigned index = 0; index < arenas->count && !arenas->begun; index++) {
        struct hew_arena *live = hew_arena_at(index);
        if (arenas->at[index] != NULL && live != NULL) {
            hew_gather_requests(live, arenas->at[index]);
        }
    }
    arenas->begun = true;
}

static void
add_cache(const struct hew_cache *cache, void *context)
{
    struct arenas *arenas = context;
    begin(arenas);
    unsigned index = cache->arena->index;
    struct hew_stats_arena *arena = index < arenas->count ? arenas->at[index] : NULL;
    if (arena == NULL) { /* created since */
        return;
    }
    arena->tcache_bytes += hew_count_apart(cache);
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        *requests_of(arena, code) += hew_count_requests(cache, code);
        arena->tcache_bytes += hew_count_held(cache, code);
    }
}

void
hew_gather_caches(struct hew_stats_arena *const *arenas, unsigned count)
{
    struct arenas context = {arenas, count, false};
    hew_thread_each(add_cache, &context);
    begin(&context); /* there were no caches */
}

void
hew_gather_depot(struct hew_stats_depot *into, struct hew_stats_arena *first)
{
    struct hew_depot_counts counts = hew_depot_counts();
    *into = (struct hew_stats_depot){
        .limit = hew_budget_depot((unsigned)counts.depots),
        .depots = counts.depots,
        .takes = counts.takes,
        .gives = counts.gives,
        .misses = counts.misses,
        .refusals = counts.refusals,
        .bytes = counts.bytes,
    };
    first->tcache_bytes += into->bytes;
}

void
hew_gather_finish(struct hew_stats_arena *arena)
{
    for (unsigned bin = 0; bin < HEW_STATS_BINS; bin++) {
        const struct hew_stats_bin *from = &arena->bins[bin];
        arena->small.allocated += from->curregs * hew_slab_shapes[bin + 1].size;
        arena->small.nmalloc += from->nmalloc;
        arena->small.ndalloc += from->ndalloc;
        arena->small.nrequests += from->nrequests;
        arena->small.nfills += from->nfills;
        arena->small.nflushes += from->nflushes;
    }
    for (unsigned index = 0; index < HEW_LARGE_CLASSES; index++) {
        const struct hew_stats_lextent *from = &arena->lextents[index];
        arena->large.nmalloc += from->nmalloc;
        arena->large.ndalloc += from->ndalloc;
        arena->large.nrequests += from->nrequests;
    }
    /* Large objects are not allocated in batches. */
    arena->large.nfills = arena->large.nmalloc;
    arena->large.nflushes = arena->large.ndalloc;
    /* Both are whole pages in jemalloc's manual. */
    size_t base = hew_bits_round_up(arena->base, HEW_PAGE);
    arena->resident = base + (arena->pactive + arena->pdirty + arena->pmuzzy) * HEW_PAGE - arena->holes;
    arena->mapped += base;
}

static void
merge(void *into_words, const void *from_words, const struct hew_stats_field *fields)
{
    uint64_t *into = into_words;
    const uint64_t *from = from_words;
    for (unsigned word = 0; fields[word].name[0] != '\0'; word++) {
        if (fields[word].merge == HEW_STATS_ADD) {
            into[word] += from[word];
        } else if (fields[word].merge == HEW_STATS_NONE) {
            into[word] = UINT64_MAX;
        } else if (into[word] < from[word]) {
            into[word] = from[word];
        }
    }
}

void
hew_gather_merge(struct hew_stats_arena *into, const struct hew_stats_arena *from)
{
    merge(into, from, hew_stats_arena_fields);
    merge(&into->small, &from->small, hew_stats_group_fields);
    merge(&into->large, &from->large, hew_stats_group_fields);
    for (unsigned mutex = 0; mutex < HEW_STATS_ARENA_MUTEXES; mutex++) {
        merge(&into->mutexes[mutex], &from->mutexes[mutex], hew_stats_mutex_fields);
    }
    for (unsigned bin = 0; bin < HEW_STATS_BINS; bin++) {
        merge(&into->bins[bin], &from->bins[bin], hew_stats_bin_fields);
        merge(&into->bins[bin].mutex, &from->bins[bin].mutex, hew_stats_mutex_fields);
    }
    for (unsigned index = 0; index < HEW_LARGE_CLASSES; index++) {
        merge(&into->lextents[index], &from->lextents[index], hew_stats_lextent_fields);
    }
    for (unsigned bucket = 0; bucket < HEW_STOCK_BUCKETS; bucket++) {
        merge(&into->extents[bucket], &from->extents[bucket], hew_stats_extents_fields);
    }
    into->dss = "N/A";
}

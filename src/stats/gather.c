/* SPDX-License-Identifier: MIT */
#include "stats/gather.h"

#include "base/options.h"
#include "cache/count.h"
#include "cache/thread.h"
#include "os/clock.h"

/* While the lock is held. */
static void
read_mutex(const struct hew_mutex *mutex, struct hew_stats_mutex *into)
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
    read_mutex(mutex, into);
    hew_mutex_unlock(mutex);
}

static void
gather_bin(struct hew_arena *arena, unsigned code, struct hew_stats_bin *into)
{
    struct hew_bin *bin = &arena->bins[code];
    hew_mutex_lock(&bin->lock);
    struct hew_bin_counts counts = bin->counts;
    read_mutex(&bin->lock, &into->mutex);
    hew_mutex_unlock(&bin->lock);
    into->nmalloc = counts.nmalloc;
    into->ndalloc = counts.ndalloc;
    into->curregs = counts.nmalloc - counts.ndalloc;
    into->nrequests = atomic_load_explicit(&arena->requests[code], memory_order_relaxed);
    into->nfills = counts.fills;
    into->nflushes = counts.flushes;
    into->nslabs = counts.slabs_ever;
    into->nreslabs = counts.reslabs;
    into->curslabs = counts.slabs;
    into->nonfull_slabs = counts.nonfull;
}

static void
gather_lextent(const struct hew_arena *arena, unsigned index, struct hew_stats_lextent *into)
{
    const struct hew_large_counts *counts = &arena->large[index];
    unsigned code = HEW_CODE_SMALL_LAST + 1 + index;
    /* What came back is read first: it left before, so the difference is never below 0. */
    into->ndalloc = atomic_load_explicit(&counts->ndalloc, memory_order_acquire);
    into->nmalloc = atomic_load_explicit(&counts->nmalloc, memory_order_relaxed);
    into->curlextents = into->nmalloc - into->ndalloc;
    into->nrequests = atomic_load_explicit(&counts->nrequests, memory_order_relaxed);
    if (code <= HEW_CODE_CACHED_LAST) {
        into->nrequests += atomic_load_explicit(&arena->requests[code], memory_order_relaxed);
    }
}

/* Bytes of the arena's slabs and large objects: never less than what is allocated in them. */
static size_t
bytes_in_use(const struct hew_stats_arena *arena)
{
    size_t bytes = arena->large.allocated;
    for (unsigned bin = 0; bin < HEW_STATS_BINS; bin++) {
        bytes += arena->bins[bin].curslabs * hew_slab_shapes[bin + 1].pages * HEW_PAGE;
    }
    return bytes;
}

static void
gather_pages(struct hew_page_heap *heap, struct hew_stats_arena *into)
{
    struct hew_page_bucket buckets[HEW_POOL_BUCKETS];
    struct hew_page_counts counts = hew_page_census(heap, buckets);
    for (unsigned bucket = 0; bucket < HEW_POOL_BUCKETS; bucket++) {
        into->extents[bucket] = (struct hew_stats_extents){
            .ndirty = buckets[bucket].dirty.extents,
            .nmuzzy = buckets[bucket].muzzy.extents,
            .nretained = buckets[bucket].retained.extents,
            .dirty_bytes = buckets[bucket].dirty.bytes,
            .muzzy_bytes = buckets[bucket].muzzy.bytes,
            .retained_bytes = buckets[bucket].retained.bytes,
        };
    }
    /* The classes were read before, and threads go on: an object counted there may be gone from here, or a new slab not
     * be in its bin yet.  What is larger was true at one of the two moments. */
    size_t in_use = bytes_in_use(into), active = counts.active > in_use ? counts.active : in_use;
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
    into->abandoned_vm = counts.abandoned;
    into->extent_avail = counts.spare_structs;
    into->metadata_edata = counts.structs * sizeof(struct hew_extent);
}

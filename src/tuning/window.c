/* SPDX-License-Identifier: MIT */
/* window: see window.h.  What a batch costs was measured (decisions 0015, 0027, 0041): it need only be right within a factor. */
#include "tuning/window.h"

#include "cache/depot.h"
#include "os/clock.h"
#include "slab/arena.h"

#include <string.h>

#define BATCH_NS 40u /* a depot's mark, and the copy */
#define FILL_NS 120u /* a bin's lock, and finding a slab */
#define FLUSH_NS 120u
#define FILLED_NS 3u /* an object */
#define FLUSHED_NS 8u
#define SPIN_NS 500u
#define SLEEP_NS 4000u /* two switches: not the time that passes, in which others have the processor */

/* Under the lock. */
static void
read_waits(const struct hew_mutex *mutex, struct hew_tuning_counters *now)
{
    now->spins += mutex->spin_acquisitions;
    now->sleeps += mutex->waits;
}

/* Returns bytes that are free in slabs. */
static uint64_t
read_bins(struct hew_arena *arena, struct hew_tuning_counters *now)
{
    uint64_t unused = 0;
    HEW_EACH_USED_BIN(arena, code)
    {
        struct hew_bin *bin = &arena->bins[code];
        hew_mutex_lock(&bin->lock);
        now->fills += bin->counts.fills;
        now->flushes += bin->counts.flushes;
        now->filled += bin->counts.nmalloc;
        now->flushed += bin->counts.ndalloc;
        unused += bin->counts.slabs * hew_slab_shapes[code].pages * HEW_PAGE -
                  (bin->counts.nmalloc - bin->counts.ndalloc) * hew_slab_shapes[code].size;
        read_waits(&bin->lock, now);
        hew_mutex_unlock(&bin->lock);
    }
    return unused;
}

static void
read_pages(struct hew_page_heap *heap, struct hew_tuning_counters *now)
{
    hew_mutex_lock(&heap->lock);
    now->returned += heap->counts.dirty_purged + heap->counts.muzzy_purged;
    now->taken += heap->counts.taken_fresh;
    now->held += heap->counts.active + heap->dirty.bytes + heap->muzzy.bytes;
    now->live += heap->counts.active;
    read_waits(&heap->lock, now);
    hew_mutex_unlock(&heap->lock);
}

void
hew_tuning_read(struct hew_tuning_counters *now)
{
    struct hew_depot_counts depots = hew_depot_counts();
    uint64_t unused = depots.bytes;
    memset(now, 0, sizeof *now);
    now->at_ms = hew_clock_ms();
    now->cpu_ns = hew_clock_process_ns();
    now->batches = depots.takes + depots.gives; /* a request that found none is part of the fill that follows */
    now->refusals = depots.refusals;
    HEW_EACH_ARENA(arena)
    {
        unused += read_bins(arena, now);
        read_pages(&arena->pages, now);
    }
    now->live -= unused < now->live ? unused : now->live; /* of moments that differ, so that sums need not agree */
}

static uint64_t
risen(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

/* Of counts that programs can reset, or that go with their arena. */
static bool
some_has_fallen(const struct hew_tuning_counters *before, const struct hew_tuning_counters *now)
{
    return now->batches < before->batches || now->refusals < before->refusals || now->fills < before->fills ||
           now->flushes < before->flushes || now->filled < before->filled || now->flushed < before->flushed ||
           now->spins < before->spins || now->sleeps < before->sleeps || now->returned < before->returned ||
           now->taken < before->taken;
}

struct hew_tuning_counters
hew_tuning_since(const struct hew_tuning_counters *before, const struct hew_tuning_counters *now)
{
    return (struct hew_tuning_counters){
        .at_ms = risen(before->at_ms, now->at_ms),
        .cpu_ns = risen(before->cpu_ns, now->cpu_ns),
        .batches = risen(before->batches, now->batches),
        .refusals = risen(before->refusals, now->refusals),
        .fills = risen(before->fills, now->fills),
        .flushes = risen(before->flushes, now->flushes),
        .filled = risen(before->filled, now->filled),
        .flushed = risen(before->flushed, now->flushed),
        .spins = risen(before->spins, now->spins),
        .sleeps = risen(before->sleeps, now->sleeps),
        .returned = risen(before->returned, now->returned),
        .taken = risen(before->taken, now->taken),
        .has_fallen = some_has_fallen(before, now),
        .held = now->held,
        .live = now->live,
    };
}

uint64_t
hew_tuning_lost_to_batches(const struct hew_tuning_counters *window)
{
    return window->batches * BATCH_NS + window->fills * FILL_NS + window->flushes * FLUSH_NS +
           window->filled * FILLED_NS + window->flushed * FLUSHED_NS + window->spins * SPIN_NS +
           window->sleeps * SLEEP_NS;
}

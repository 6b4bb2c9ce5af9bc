/* SPDX-License-Identifier: MIT */
/*
 * stats_consistency: snapshots taken while eight threads allocate, free what others allocated, end and begin anew: each
 * must agree with itself, and what only rises never falls from one to the next.
 */
#include "layers_alloc.h"
#include "layers_random.h"
#include "stats/snapshot.h"
#include "test.h"

#include <pthread.h>

#define THREADS 8
#define LIVES 60 /* of each thread, one after the other */
#define STEPS 15000
#define SLOTS 1024
#define SANE ((uint64_t)1 << 40) /* what is more has wrapped around */

static void *_Atomic shared[SLOTS];
static _Atomic unsigned lives_left = THREADS * LIVES;

static size_t
random_size(struct layers_random *dice)
{
    if (layers_random_once_in(dice, 50)) {
        return 1 + layers_random_below(dice, (size_t)2 << 20);
    }
    return 1 + layers_random_below(dice, layers_random_once_in(dice, 5) ? 40000 : 1000);
}

static void *
live(void *seed)
{
    struct layers_random dice = {(uintptr_t)seed};
    for (unsigned step = 0; step < STEPS; step++) {
        void *object = layers_random_once_in(&dice, 3) ? NULL : layers_malloc(random_size(&dice));
        layers_free(atomic_exchange(&shared[layers_random_below(&dice, SLOTS)], object));
        if (layers_random_once_in(&dice, 4000)) {
            hew_page_decay(hew_arena_at(0)->pages.heap, 0, true);
        }
    }
    hew_thread_death();
    hew_depot_drain(true);
    lives_left--;
    return NULL;
}

static void *
lead(void *argument)
{
    uintptr_t seed = (uintptr_t)argument;
    for (unsigned life = 0; life < LIVES; life++) {
        pthread_t thread;
        pthread_create(&thread, NULL, live, (void *)(seed * 1000 + life + 1));
        pthread_join(thread, NULL);
    }
    return NULL;
}

static void
check_arena(const struct hew_stats_arena *arena)
{
    size_t slabs = 0;
    for (unsigned index = 0; index < HEW_STATS_BINS; index++) {
        const struct hew_stats_bin *bin = &arena->bins[index];
        const struct hew_slab_shape *shape = &hew_slab_shapes[index + 1];
        CHECK(bin->nmalloc >= bin->ndalloc && bin->curregs == bin->nmalloc - bin->ndalloc);
        CHECK(bin->curregs <= bin->curslabs * shape->regions);
        CHECK(bin->nonfull_slabs <= bin->curslabs && bin->curslabs <= bin->nslabs);
        slabs += bin->curslabs * shape->pages * HEW_PAGE;
    }
    for (unsigned index = 0; index < HEW_LARGE_CLASSES; index++) {
        CHECK(arena->lextents[index].nmalloc >= arena->lextents[index].ndalloc);
        CHECK(arena->lextents[index].curlextents < SANE);
    }
    CHECK(arena->pactive * HEW_PAGE >= arena->small.allocated + arena->large.allocated);
    CHECK(arena->pactive * HEW_PAGE >= slabs);
    CHECK(arena->resident + arena->holes >= arena->pactive * HEW_PAGE + arena->base);
    CHECK(arena->mapped < SANE && arena->retained < SANE && arena->tcache_bytes < SANE);
}

static void
check_process(const struct hew_stats_arena *all)
{
    struct hew_stats_totals totals = hew_stats_totals();
    CHECK(totals.allocated == all->small.allocated + all->large.allocated);
    CHECK(totals.active == all->pactive * HEW_PAGE && totals.active >= totals.allocated);
    CHECK(totals.resident + all->holes >= totals.active + totals.metadata);
    CHECK(totals.metadata >= totals.metadata_edata + totals.metadata_rtree);
    CHECK(totals.mapped >= totals.active);
}

static void
check_sum(const struct hew_stats_arena *all)
{
    static struct hew_stats_arena one;
    uint64_t active = 0, requests = 0, resident = 0;
    for (unsigned index = 0; index < hew_arenas_count(); index++) {
        if (hew_stats_copy_arena(index, &one)) {
            check_arena(&one);
            active += one.pactive;
            resident += one.resident;
            requests += one.small.nrequests;
        }
    }
    CHECK_EQUAL(active, all->pactive);
    CHECK_EQUAL(resident, all->resident);
    CHECK_EQUAL(requests, all->small.nrequests);
}

static void
check_progress(const struct hew_stats_arena *before, const struct hew_stats_arena *now)
{
    CHECK(now->small.nmalloc >= before->small.nmalloc && now->large.nmalloc >= before->large.nmalloc);
    CHECK(now->small.ndalloc >= before->small.ndalloc && now->large.ndalloc >= before->large.ndalloc);
    CHECK(now->small.nrequests >= before->small.nrequests);
    CHECK(now->dirty_purged >= before->dirty_purged && now->dirty_npurge >= before->dirty_npurge);
    CHECK(now->mutexes[HEW_STATS_ARENA_extents_dirty].num_ops >=
          before->mutexes[HEW_STATS_ARENA_extents_dirty].num_ops);
}

TEST(every_snapshot_agrees_with_itself_while_threads_work)
{
    static struct hew_stats_arena before, now;
    pthread_t leaders[THREADS];
    unsigned snapshots = 0;
    CHECK(layers_boot());
    hew_options.narenas = 3;
    for (uintptr_t thread = 0; thread < THREADS; thread++) {
        pthread_create(&leaders[thread], NULL, lead, (void *)(thread + layers_random_seed() % 1000));
    }
    while (lives_left > 0 && test_failures < 20) {
        uint64_t epoch = hew_stats_epoch();
        hew_depot_drain(true);
        CHECK(hew_stats_take() && hew_stats_epoch() == epoch + 1);
        CHECK(hew_stats_copy_arena(HEW_STATS_ALL, &now));
        check_process(&now);
        check_sum(&now);
        check_progress(&before, &now);
        before = now;
        snapshots++;
    }
    for (unsigned thread = 0; thread < THREADS; thread++) {
        pthread_join(leaders[thread], NULL);
    }
    CHECK(snapshots > 10);
}

TEST(afterwards_every_object_is_accounted_for)
{
    static struct hew_stats_arena all;
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        layers_free(shared[slot]);
    }
    layers_end_thread();
    hew_depot_drain(true);
    CHECK(hew_stats_take() && hew_stats_copy_arena(HEW_STATS_ALL, &all));
    CHECK_EQUAL(all.small.allocated + all.large.allocated, 0);
    CHECK_EQUAL(all.tcache_bytes + all.nthreads, 0);
    CHECK(layers_settled());
}

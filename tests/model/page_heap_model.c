/* SPDX-License-Identifier: MIT */
/*
 * page_heap: the page heap against a list of ranges, under random takes, gives, grows, shrinks, moves, purges, jumps of
 * the clock and refused system calls, with every setting that matters to it.
 *
 * By hand:  HEW_MODEL_SEED=7 HEW_MODEL_STEPS=1000000 model_page_heap
 */
#include "base/options.h"
#include "os/clock.h"
#include "page/split.h"
#include "test.h"

#include "fakes/faults.h"
#include "page_ranges.h"

#define RANGES 160
#define LIVE_MAX (192 * MIB) /* so that the model fits a small machine */

static struct hew_page_heap heap;
static struct range ranges[RANGES];
static size_t live; /* bytes taken */
static uint64_t now;
static struct run run;

static void
check_no_overlap(const struct range *range)
{
    for (unsigned i = 0; i < RANGES; i++) {
        const struct range *other = &ranges[i];
        if (other->extent != NULL && other != range) {
            bool below = range->address + range->size <= other->address;
            MUST(&run, below || other->address + other->size <= range->address);
        }
    }
}

/* No free extent lies over a range, and none has a free neighbour that it should have merged with, unless that waits. */
static void
check_pool(struct hew_stock *pool)
{
    bool merged = hew_list_is_empty(&pool->unmerged);
    for (struct hew_list *node = pool->oldest.next; node != &pool->oldest; node = node->next) {
        struct hew_extent *extent = HEW_CONTAINER(node, struct hew_extent, free.age);
        const struct range free = {.address = extent->address, .size = extent->size};
        check_no_overlap(&free);
        const struct hew_extent *behind = hew_map_extent(hew_extent_end(extent));
        MUST(&run, !merged || !hew_split_joinable(extent, behind) || behind->address != hew_extent_end(extent) ||
                       behind->state != extent->state);
    }
}

static void
check_all(void)
{
    MUST(&run, hew_page_heap_valid(&heap));
    struct hew_page_counts counts = hew_page_counts(&heap);
    MUST(&run, counts.active == live);
    MUST(&run, counts.active + counts.dirty + counts.muzzy + counts.retained == counts.mapped);
    check_pool(&heap.dirty);
    check_pool(&heap.muzzy);
    check_pool(&heap.retained);
    for (unsigned i = 0; i < RANGES; i++) {
        if (ranges[i].extent != NULL) {
            range_check_maps(&run, &ranges[i]);
            range_check(&run, &ranges[i], 1);
        }
    }
}

static void
change_size(struct range *range)
{
    size_t before = range->size;
    if (random_below(&run.random, 2) == 0) {
        range_grow(&run, range);
    } else {
        range_shrink(&run, range);
    }
    check_no_overlap(range);
    live += range->size - before;
}

static void
pass_time(void)
{
    if (random_below(&run.random, 50) == 0) {
        now = random_below(&run.random, 2) == 0 ? now / 2 : now + (UINT64_C(1) << 40);
    }
    now += random_below(&run.random, 500);
    hew_page_decay(&heap, now, random_below(&run.random, 30) == 0);
    MUST(&run, hew_page_next_ms(&heap) <= 1000);
}

static void
operate(void)
{
    struct range *range = &ranges[random_below(&run.random, RANGES)];
    struct range *other = &ranges[random_below(&run.random, RANGES)];
    uint64_t what = random_below(&run.random, 100);
    if (what < 6) {
        pass_time();
    } else if (range->extent == NULL) {
        if (live < LIVE_MAX && range_take(&run, range)) {
            check_no_overlap(range);
            live += range->size;
        }
    } else if (what < 30 && range->code == HEW_CODE_SLOW) {
        change_size(range);
    } else if (what < 40 && other->extent != NULL && other != range) {
        range_move(&run, range, other);
    } else {
        live -= range->size;
        range_give(&run, range);
    }
}

/* A stretch of operations with settings of its own, after which all is given and what can be goes back. */
static void
era(uint64_t steps)
{
    static const int64_t times[] = {-1, 0, 20, 1000, 30000};
    hew_options.retain = random_below(&run.random, 3) != 0;
    hew_options.dss = (enum hew_dss)random_below(&run.random, 3);
    hew_options.dirty_decay_ms = times[random_below(&run.random, 5)];
    hew_options.muzzy_decay_ms = times[random_below(&run.random, 5)];
    memset(&heap, 0, sizeof heap);
    hew_page_heap_begin(&heap, 1, now);
    for (unsigned i = 0; i < RANGES; i++) {
        ranges[i].heap = &heap;
    }
    for (uint64_t step = 0; step < steps; step++, run.step++) {
        bool refuse = random_below(&run.random, 20) == 0;
        if (refuse) {
            faults_refuse(NULL, (int)random_below(&run.random, 3), 1 + (int)random_below(&run.random, 4));
        }
        operate();
        faults_end();
        if (run.step % 32 == 0) {
            check_all();
        }
    }
    for (unsigned i = 0; i < RANGES; i++) {
        if (ranges[i].extent != NULL) {
            live -= ranges[i].size;
            range_give(&run, &ranges[i]);
        }
    }
    check_all();
    hew_page_release(&heap);
    check_all();
    struct hew_page_counts counts = hew_page_counts(&heap);
    MUST(&run, counts.dirty == 0 && counts.muzzy == 0);
    MUST(&run, counts.mapped == 0 || hew_options.dss != HEW_DSS_DISABLED);
}

TEST(the_page_heap_agrees_with_a_list_of_ranges)
{
    uint64_t steps = parameter("HEW_MODEL_STEPS", 40000);
    CHECK(hew_map_boot(true));
    now = hew_clock_ms();
    run.random = run.seed = parameter("HEW_MODEL_SEED", 1);
    for (unsigned eras = 0; eras < 20; eras++) {
        era(steps / 20);
    }
    printf("%llu operations from seed %llu\n", (unsigned long long)run.step, (unsigned long long)run.seed);
}

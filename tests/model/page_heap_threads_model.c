/* SPDX-License-Identifier: MIT */
/*
 * page_heap_threads: four threads that take, give, grow, shrink, move and purge at the same time, and hand ranges to
 * each other; on one heap, and on two whose mappings lie side by side.
 *
 * By hand:  HEW_MODEL_SEED=7 HEW_MODEL_STEPS=1000000 model_page_heap_threads
 */
#include "base/options.h"
#include "os/clock.h"
#include "test.h"

#include "page_ranges.h"

#include <pthread.h>

#define THREADS 4
#define RANGES 40
#define SHARED 16

struct worker {
    struct run run;
    uint64_t steps;
    struct range ranges[RANGES];
};

static struct hew_page_heap heaps[2];
static unsigned heap_count;
static struct worker workers[THREADS];
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static struct range shared[SHARED]; /* guarded by shared_lock: ranges on their way from thread to thread */

static void
swap_with_others(struct worker *worker, struct range *range)
{
    struct range *place = &shared[random_below(&worker->run.random, SHARED)];
    pthread_mutex_lock(&shared_lock);
    struct range mine = *range;
    *range = *place;
    *place = mine;
    pthread_mutex_unlock(&shared_lock);
}

static void
operate(struct worker *worker)
{
    struct run *run = &worker->run;
    struct range *range = &worker->ranges[random_below(&run->random, RANGES)];
    struct range *other = &worker->ranges[random_below(&run->random, RANGES)];
    uint64_t what = random_below(&run->random, 100);
    if (what < 2) {
        struct hew_page_heap *heap = &heaps[random_below(&run->random, heap_count)];
        hew_page_decay(heap, hew_clock_ms() + random_below(&run->random, 100000), what == 0);
        hew_page_counts(heap);
        hew_page_next_ms(heap);
    } else if (what < 10) {
        swap_with_others(worker, range);
    } else if (range->extent == NULL) {
        range->heap = &heaps[random_below(&run->random, heap_count)];
        range_take(run, range);
    } else if (what < 30 && range->code == HEW_CODE_SLOW) {
        (void)(random_below(&run->random, 2) == 0 ? range_grow(run, range) : range_shrink(run, range));
    } else if (what < 35 && other->extent != NULL && other != range) {
        range_move(run, range, other);
    } else {
        range_give(run, range);
    }
}

static void *
work(void *argument)
{
    struct worker *worker = argument;
    for (uint64_t step = 0; step < worker->steps; step++, worker->run.step++) {
        operate(worker);
    }
    return NULL;
}

/* Sums up what the heap has out, and gives it back. */
static size_t
give_all(struct run *run, struct range *ranges, unsigned count)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        if (ranges[i].extent != NULL) {
            bytes += ranges[i].size;
            range_give(run, &ranges[i]);
        }
    }
    return bytes;
}

static void
run_threads(unsigned count, uint64_t steps)
{
    static uint64_t runs;
    pthread_t threads[THREADS];
    struct run end = {.seed = parameter("HEW_MODEL_SEED", 1)};
    size_t active = 0, held = 0;
    heap_count = count;
    for (unsigned i = 0; i < count; i++) {
        memset(&heaps[i], 0, sizeof heaps[i]);
        hew_page_heap_begin(&heaps[i], (uint16_t)i, hew_clock_ms());
    }
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].steps = steps;
        workers[i].run = (struct run){.seed = end.seed, .random = end.seed * 1000 + ++runs};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (unsigned i = 0; i < count; i++) {
        MUST(&end, hew_page_heap_valid(&heaps[i]));
        active += hew_page_counts(&heaps[i]).active;
    }
    for (unsigned i = 0; i < THREADS; i++) {
        held += give_all(&end, workers[i].ranges, RANGES);
    }
    held += give_all(&end, shared, SHARED);
    MUST(&end, active == held);
    for (unsigned i = 0; i < count; i++) {
        MUST(&end, hew_page_heap_valid(&heaps[i]) && hew_page_counts(&heaps[i]).active == 0);
        hew_page_release(&heaps[i]);
        MUST(&end, hew_page_counts(&heaps[i]).mapped == 0);
    }
}

TEST(four_threads_share_one_heap)
{
    CHECK(hew_map_boot(true));
    hew_options.dss = HEW_DSS_DISABLED;
    hew_options.dirty_decay_ms = 200;
    hew_options.muzzy_decay_ms = 100;
    run_threads(1, parameter("HEW_MODEL_STEPS", 6000) / 2);
}

TEST(four_threads_use_two_heaps_side_by_side)
{
    ranges_remap = true;
    hew_options.retain = false;
    hew_options.dirty_decay_ms = 0;
    hew_options.muzzy_decay_ms = 0;
    run_threads(2, parameter("HEW_MODEL_STEPS", 6000) / 4);
    hew_options.dirty_decay_ms = 1000;
    run_threads(2, parameter("HEW_MODEL_STEPS", 6000) / 4);
}

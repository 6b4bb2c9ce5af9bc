/* SPDX-License-Identifier: MIT */
/*
 * stats_counters: random requests of several threads, counted by hand, against what the statistics say afterwards: with
 * full thread caches, with empty ones, and when everything is freed.
 */
#include "cache/magazine.h"
#include "layers_alloc.h"
#include "layers_random.h"
#include "stats/snapshot.h"
#include "test.h"

#include <pthread.h>

#define THREADS 4
#define SLOTS 600
#define STEPS 20000

/* What one thread asked for. */
struct worker {
    struct layers_random dice;
    void *objects[SLOTS];
    uint64_t requests[HEW_CODES];
};

static struct worker workers[THREADS];
static void *_Atomic exchange[64]; /* objects on their way to another thread */
static pthread_barrier_t full, counted;
static bool resizes; /* realloc is among the calls: requests are not counted then */

static struct hew_stats_arena all; /* the sum of the last snapshot */

static size_t
random_size(struct layers_random *dice)
{
    switch (layers_random_below(dice, 30)) {
    case 0:
        return 1 + layers_random_below(dice, (size_t)3 << 20);
    case 1:
    case 2:
        return 1 + layers_random_below(dice, 200000);
    default:
        return 1 + layers_random_below(dice, layers_random_once_in(dice, 4) ? 15000 : 700);
    }
}

static void
step(struct worker *worker)
{
    void **slot = &worker->objects[layers_random_below(&worker->dice, SLOTS)];
    if (*slot == NULL) {
        size_t size = random_size(&worker->dice);
        *slot = layers_malloc(size);
        size_t usable = hew_alloc_usable("test", *slot);
        unsigned code = hew_code_of_size(size <= HEW_SMALL_MAX ? usable : size);
        worker->requests[code < HEW_CODES ? code : 0]++;
    } else if (layers_random_once_in(&worker->dice, 3)) {
        *slot = atomic_exchange(&exchange[layers_random_below(&worker->dice, 64)], *slot);
    } else if (resizes && layers_random_once_in(&worker->dice, 2)) {
        *slot = hew_realloc_object(*slot, random_size(&worker->dice));
    } else {
        layers_free(*slot);
        *slot = NULL;
    }
    if (layers_random_once_in(&worker->dice, 2000)) {
        hew_magazine_send_all_home(hew_alloc_own_cache());
        hew_depot_drain(true);
    }
}

static void *
work(void *argument)
{
    struct worker *worker = argument;
    for (unsigned steps = 0; steps < STEPS; steps++) {
        step(worker);
    }
    pthread_barrier_wait(&full);
    pthread_barrier_wait(&counted);
    hew_thread_death();
    return NULL;
}

static void
snapshot(void)
{
    hew_depot_drain(true);
    CHECK(hew_stats_take());
    CHECK(hew_stats_copy_arena(HEW_STATS_ALL, &all));
}

/* What the program holds, by class. */
struct held {
    uint64_t objects[HEW_STATS_BINS + HEW_LARGE_CLASSES];
    size_t small, large;
};

static void
hold(struct held *held, void *object)
{
    if (object != NULL) {
        size_t usable = hew_alloc_usable("test", object);
        held->objects[hew_class_index(usable)]++;
        *(usable > HEW_SMALL_MAX ? &held->large : &held->small) += usable;
    }
}

static struct held
count_held(void)
{
    struct held held = {0};
    for (unsigned thread = 0; thread < THREADS; thread++) {
        for (unsigned slot = 0; slot < SLOTS; slot++) {
            hold(&held, workers[thread].objects[slot]);
        }
    }
    for (unsigned slot = 0; slot < 64; slot++) {
        hold(&held, exchange[slot]);
    }
    return held;
}

static void
check_classes(const struct held *held)
{
    for (unsigned bin = 0; bin < HEW_STATS_BINS; bin++) {
        CHECK_EQUAL(all.bins[bin].curregs, held->objects[bin]);
        CHECK_EQUAL(all.bins[bin].nmalloc - all.bins[bin].ndalloc, held->objects[bin]);
    }
    for (unsigned index = 0; index < HEW_LARGE_CLASSES; index++) {
        CHECK_EQUAL(all.lextents[index].curlextents, held->objects[HEW_STATS_BINS + index]);
    }
}

/* With nothing in any cache every number about live objects is known. */
static void
check_exactly(void)
{
    struct held held = count_held();
    snapshot();
    struct hew_stats_totals totals = hew_stats_totals();
    check_classes(&held);
    CHECK_EQUAL(all.small.allocated, held.small);
    CHECK_EQUAL(all.large.allocated, held.large);
    CHECK_EQUAL(totals.allocated, held.small + held.large);
    CHECK_EQUAL(all.tcache_bytes, 0);
    size_t slabs = 0;
    for (unsigned bin = 0; bin < HEW_STATS_BINS; bin++) {
        slabs += all.bins[bin].curslabs * hew_slab_shapes[bin + 1].pages * HEW_PAGE;
    }
    CHECK(totals.active >= slabs + held.large);
    CHECK(totals.resident + all.holes >= totals.active + totals.metadata);
}

static void
check_requests(void)
{
    uint64_t small = 0;
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        uint64_t requests = 0;
        for (unsigned thread = 0; thread < THREADS; thread++) {
            requests += workers[thread].requests[code];
        }
        if (code <= HEW_CODE_SMALL_LAST) {
            CHECK_EQUAL(all.bins[code - 1].nrequests, requests);
            small += requests;
        } else {
            CHECK_EQUAL(all.lextents[code - HEW_CODE_SMALL_LAST - 1].nrequests, requests);
        }
    }
    CHECK_EQUAL(all.small.nrequests, small);
}

static void
free_everything(void)
{
    for (unsigned thread = 0; thread < THREADS; thread++) {
        for (unsigned slot = 0; slot < SLOTS; slot++) {
            layers_free(workers[thread].objects[slot]);
            workers[thread].objects[slot] = NULL;
        }
    }
    for (unsigned slot = 0; slot < 64; slot++) {
        layers_free(exchange[slot]);
        exchange[slot] = NULL;
    }
    layers_end_thread();
}

static void
run(uint64_t seed)
{
    pthread_t threads[THREADS];
    for (unsigned thread = 0; thread < THREADS; thread++) {
        workers[thread].dice.state = seed * 31 + thread + 1;
        pthread_create(&threads[thread], NULL, work, &workers[thread]);
    }
    pthread_barrier_wait(&full);
    struct held held = count_held();
    snapshot();
    CHECK_EQUAL(all.small.allocated + all.large.allocated, held.small + held.large + all.tcache_bytes);
    CHECK_EQUAL(all.nthreads, THREADS);
    if (!resizes) {
        check_requests();
    }
    pthread_barrier_wait(&counted);
    for (unsigned thread = 0; thread < THREADS; thread++) {
        pthread_join(threads[thread], NULL);
    }
    check_exactly();
    if (!resizes) {
        check_requests();
    }
    free_everything();
    check_exactly();
    CHECK(layers_settled());
}

TEST(counters_begin_at_nothing)
{
    CHECK(layers_boot());
    pthread_barrier_init(&full, NULL, THREADS + 1);
    pthread_barrier_init(&counted, NULL, THREADS + 1);
    hew_options.narenas = 3;
    snapshot();
    CHECK_EQUAL(hew_stats_totals().allocated, 0);
    CHECK_EQUAL(all.nthreads, 0);
}

TEST(counters_equal_what_the_threads_did)
{
    run(layers_random_seed());
}

TEST(counters_equal_what_the_threads_hold_after_resizing)
{
    resizes = true;
    for (unsigned round = 1; round <= 3; round++) {
        run(layers_random_seed() + round);
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * grow: dynamic pools come and go, and which free objects a set takes first.
 */
#include "pool/grow.h"

#include "os/clock.h"
#include "pool/range.h"
#include "sets.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

TEST(a_fixed_group_gives_each_of_its_objects_once_before_the_set_grows)
{
    struct hew_pool_set *set = begin(hundred, 1, NULL);
    take_many(set, 50, 100);
    CHECK_EQUAL(figures_of(set, 0).pools, 0);
    CHECK_EQUAL(figures_of(set, 0).in_use, 100);
    for (unsigned i = 0; i < 100; i++) {
        memset(objects[i], (int)i, 64);
    }
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQUAL(((unsigned char *)objects[i])[63], i);
    }
    void *more = take(set, 64);
    CHECK(more != NULL);
    CHECK_EQUAL(figures_of(set, 0).pools, 1);
    give(set, more);
    give_many(set, 100);
    CHECK(hew_pool_life_end(set, false));
}

TEST(a_wholly_free_dynamic_pool_goes_when_there_is_room_elsewhere)
{
    struct hew_pool_set *set = begin(hundred, 1, &(struct hew_pool_options){.dynamic_count = 200});
    take_many(set, 64, 1000);
    CHECK(figures_of(set, 0).pools >= 5);
    give_many(set, 1000);
    hew_pool_serve_trim(set);
    CHECK_EQUAL(figures_of(set, 0).pools, 0);
    CHECK_EQUAL(figures_of(set, 0).grown, figures_of(set, 0).gone);
    CHECK_EQUAL(figures_of(set, 0).in_use, 0);
    CHECK(hew_pool_life_end(set, false));
}

TEST(the_quarters_rule_keeps_a_pool_while_the_fixed_group_is_in_use)
{
    struct hew_pool_set *set = begin(hundred, 1, &(struct hew_pool_options){.dynamic_count = 200, .at_hand = SIZE_MAX});
    take_many(set, 64, 101);
    give(set, objects[100]);
    CHECK_EQUAL(figures_of(set, 0).pools, 1); /* nothing else is free */
    for (unsigned i = 0; i < 50; i++) {
        give(set, objects[i]);
    }
    CHECK_EQUAL(figures_of(set, 0).pools, 1); /* 50 of 200: not more than a quarter */
    give(set, objects[50]);
    CHECK_EQUAL(figures_of(set, 0).pools, 0);
    for (unsigned i = 51; i < 100; i++) {
        give(set, objects[i]);
    }
    CHECK(hew_pool_life_end(set, false));
}

TEST(a_wholly_free_pool_goes_after_its_time_though_nothing_else_is_free)
{
    struct hew_pool_set *set =
        begin(hundred, 1, &(struct hew_pool_options){.dynamic_count = 200, .at_hand = SIZE_MAX, .release_ms = 50});
    take_many(set, 64, 101);
    uint64_t given = hew_clock_ms();
    give(set, objects[100]);
    while (hew_pool_life_round() != 0) {
        CHECK_EQUAL(figures_of(set, 0).pools, 1);
        usleep(5000);
    }
    CHECK(hew_clock_ms() >= given + 50);
    CHECK_EQUAL(figures_of(set, 0).pools, 0);
    give_many(set, 100);
    CHECK(hew_pool_life_end(set, false));
}

TEST(the_next_growth_gets_the_memory_of_the_pool_that_went_last)
{
    struct hew_pool_set *set =
        begin(hundred, 1, &(struct hew_pool_options){.dynamic_count = 64, .at_hand = SIZE_MAX, .release_ms = 50});
    struct hew_pool_set_figures total;
    take_many(set, 64, 100 + 2 * 64);
    give_many(set, 100 + 2 * 64);
    CHECK_EQUAL(figures_of(set, 0).pools, 0);
    CHECK(hew_pool_range_of((uintptr_t)objects[100]) == NULL);
    hew_pool_life_figures(set, &total, NULL, 0);
    CHECK_EQUAL(total.dynamic_bytes, 2 * HEW_GRAIN); /* for a moment */
    void *last = objects[100 + 64];
    take_many(set, 64, 101);
    CHECK(objects[100] == last);
    give_many(set, 101);
    while (hew_pool_life_round() != 0) {
        usleep(5000);
    }
    hew_pool_life_figures(set, &total, NULL, 0);
    CHECK_EQUAL(total.dynamic_bytes, 0);
    CHECK_EQUAL(figures_of(set, 0).grown, 3);
    CHECK_EQUAL(figures_of(set, 0).gone, 3);
    CHECK(hew_pool_life_end(set, false));
}

TEST(pools_that_went_keep_no_memory_from_a_bound_or_a_trim)
{
    struct hew_pool_options options = {.dynamic_count = 64, .at_hand = SIZE_MAX};
    struct hew_pool_set_figures total;
    struct hew_pool_set *set = begin(hundred, 1, &options);
    take_many(set, 64, 100 + 2 * 64);
    give_many(set, 100 + 2 * 64);
    CHECK_EQUAL(hew_pool_serve_trim(set), 2);
    hew_pool_life_figures(set, &total, NULL, 0);
    CHECK_EQUAL(total.dynamic_bytes, 0);
    CHECK(hew_pool_life_end(set, false));
    options.most_bytes = 1 << 20;
    set = begin(hundred, 1, &options);
    take_many(set, 64, 100 + 2 * 64);
    give_many(set, 100 + 2 * 64);
    hew_pool_life_figures(set, &total, NULL, 0);
    CHECK_EQUAL(total.dynamic_bytes, 0);
    CHECK(hew_pool_life_end(set, false));
}

TEST(a_dynamic_pools_object_goes_to_the_magazine_and_an_address_inside_it_does_not)
{
    struct hew_pool_set *set = begin(hundred, 1, NULL);
    take_many(set, 64, 101);
    char *object = objects[100];
    CHECK(!hew_pool_fast_give(set, object));
    CHECK(!hew_pool_fast_give_dynamic(set, object + 16));
    CHECK(!hew_pool_fast_give_dynamic(set, objects[0]));
    CHECK(!hew_pool_fast_give_dynamic(set, &set));
    CHECK(hew_pool_fast_give_dynamic(set, object));
    CHECK(take(set, 64) == object);
    give_many(set, 101);
    CHECK(hew_pool_life_end(set, false));
}

/* On one processor, so that there is only one that remembers. */
TEST(what_came_back_last_is_taken_first)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    CHECK_EQUAL(sched_getaffinity(0, sizeof all, &all), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &one);
        }
    }
    sched_setaffinity(0, sizeof one, &one);
    static const struct hew_pool_size sizes[] = {{64, 64 * 64}};
    struct hew_pool_set *set = begin(sizes, 1, &(struct hew_pool_options){.at_hand = 64});
    take_many(set, 64, 40 * 64);
    uintptr_t base = (uintptr_t)objects[0];
    give_many(set, 40 * 64);
    hew_pool_serve_trim(set);                                   /* nothing is at hand */
    for (unsigned i = 0; i < HEW_POOL_RECENT_WORDS * 64; i++) { /* the newest word first, low addresses first in each */
        CHECK_EQUAL(((uintptr_t)take(set, 64) - base) / 64, (39 - i / 64) * 64 + i % 64);
    }
    CHECK((uintptr_t)take(set, 64) == base); /* what lay deeper is forgotten */
    CHECK(hew_pool_life_end(set, true));
    sched_setaffinity(0, sizeof all, &all);
}

/* Several threads make one set grow and shrink: what is guarded by its lock, and what no lock guards, under the sanitizer of
 * threads as well.  tests/model/pool_threads_model.c does more of it. */
#define THREADS 4
#define HELD 150

static struct hew_pool_set *shared_set;

static _Atomic unsigned wrong;

static void *
grow_and_shrink(void *mark)
{
    unsigned char *held[HELD], byte = (unsigned char)(uintptr_t)mark;
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < HELD; i++) {
            held[i] = take(shared_set, 64);
            memset(held[i], byte, 64);
        }
        for (unsigned i = 0; i < HELD; i++) {
            wrong += held[i][0] != byte || held[i][63] != byte;
            give(shared_set, held[i]);
        }
        hew_pool_life_round();
    }
    hew_pool_life_leave();
    layers_end_thread();
    return NULL;
}

TEST(threads_that_make_a_set_grow_and_shrink_together_leave_only_the_fixed_group)
{
    pthread_t threads[THREADS];
    struct hew_pool_set_figures total;
    shared_set = begin(hundred, 1, &(struct hew_pool_options){.dynamic_count = 64, .at_hand = 16});
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, grow_and_shrink, (void *)(i + 1));
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQUAL(wrong, 0);
    hew_pool_serve_trim(shared_set);
    hew_pool_life_figures(shared_set, &total, NULL, 0);
    CHECK_EQUAL(total.dynamic_bytes, 0);
    CHECK_EQUAL(figures_of(shared_set, 0).in_use, 0);
    CHECK_EQUAL(figures_of(shared_set, 0).grown, figures_of(shared_set, 0).gone);
    CHECK(hew_pool_life_end(shared_set, false));
}

/* SPDX-License-Identifier: MIT */
/* budget: what a thread's magazines may hold. */
#include "one_thread.h"

#include "cache/budget.h"
#include "cache/own.h"
#include "cache/thread.h"
#include "page/bound.h"

#define CROWD 300 /* threads: each one's share is the least there is */

static struct hew_cache *others[CROWD];

static void
begin_crowd(struct hew_cache *first)
{
    for (unsigned i = 0; i < CROWD; i++) {
        others[i] = hew_thread_birth(true);
        CHECK(others[i] != NULL);
    }
    layers_become(first);
    first->own->misses = 0; /* it asks for its share at once */
}

static void
end_crowd(void)
{
    hew_thread_death();
    for (unsigned i = 0; i < CROWD; i++) {
        layers_become(others[i]);
        hew_thread_death();
    }
    CHECK_EQUAL(hew_caches_alive, 0);
    CHECK(layers_settled());
}

/* What the first objects of all classes may hold beyond the share. */
static size_t
first_bytes(void)
{
    size_t bytes = 0;
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        size_t size = hew_code_size(code), most = ((size_t)2 << 10) / size;
        bytes += (most == 0 ? 1 : most > 7 ? 7 : most) * size;
    }
    return bytes;
}

TEST(a_thread_alone_and_its_depot_have_a_64th_of_the_heap_each_and_a_least)
{
    new_cache();
    size_t before = atomic_load(&hew_page_mapped);
    atomic_store(&hew_page_mapped, (size_t)1 << 20);
    CHECK(hew_budget_share() == (size_t)64 << 10 && hew_budget_depot(1) == (size_t)128 << 10);
    atomic_store(&hew_page_mapped, (size_t)64 << 20);
    CHECK(hew_budget_share() == (size_t)1 << 20 && hew_budget_depot(1) == (size_t)1 << 20);
    atomic_store(&hew_page_mapped, (size_t)1 << 40);
    CHECK(hew_budget_share() == (size_t)8 << 20 && hew_budget_depot(1) == (size_t)8 << 20);
    atomic_store(&hew_page_mapped, before);
    end_cache();
}

TEST(a_share_falls_as_threads_come_and_has_a_least_and_depots_follow_the_heap)
{
    struct hew_cache *first = new_cache();
    begin_crowd(first);
    CHECK_EQUAL(hew_budget_share(), (size_t)256 << 10);
    size_t before = atomic_load(&hew_page_mapped);
    atomic_store(&hew_page_mapped, (size_t)1 << 20);
    CHECK_EQUAL(hew_budget_depot(2), (size_t)256 << 10);
    atomic_store(&hew_page_mapped, (size_t)64 << 20);
    CHECK_EQUAL(hew_budget_depot(2), (size_t)4 << 20);
    atomic_store(&hew_page_mapped, before);
    end_crowd();
}

TEST(near_a_limit_of_memory_all_threads_together_hold_half_of_what_caches_may_and_all_depots_the_other)
{
    size_t share = hew_budget_share(), depot = hew_budget_depot(1);
    atomic_store(&hew_page_bound.caches, (size_t)64 << 10);
    CHECK(hew_budget_share() == share && hew_budget_depot(1) == depot); /* no limit is known */
    atomic_store(&hew_page_bound.known, true);
    hew_budget_note_limit();
    CHECK(hew_budget_share() == (size_t)32 << 10 && hew_budget_depot(1) == (size_t)32 << 10);
    CHECK_EQUAL(hew_budget_depot(2), (size_t)16 << 10);
    atomic_store(&hew_caches_alive, atomic_load(&hew_caches_alive) + 8);
    CHECK(hew_budget_share() <= (size_t)4 << 10);
    atomic_store(&hew_caches_alive, atomic_load(&hew_caches_alive) - 8);
    atomic_store(&hew_page_bound.caches, SIZE_MAX);
    CHECK(hew_budget_share() == share && hew_budget_depot(1) == depot);
    atomic_store(&hew_page_bound.known, false);
}

TEST(room_may_be_a_part_or_a_multiple_of_the_usual)
{
    size_t share = hew_budget_share(), depot = hew_budget_depot(1), step = hew_budget_step();
    hew_budget_set_share(400);
    CHECK(hew_budget_share() == 4 * share && hew_budget_depot(1) == depot && hew_budget_step() == 4 * step);
    hew_budget_set_depots(25);
    CHECK(hew_budget_depot(1) == depot / 4 && hew_budget_share() == 4 * share);
    hew_budget_set_share(1600);
    CHECK(hew_budget_share() == 16 * share && hew_budget_step() == 8 * step); /* a step has its own most */
    hew_budget_set_share(50);
    CHECK(hew_budget_share() == share / 2 && hew_budget_step() == step); /* and least */
    atomic_store(&hew_page_bound.known, true);
    atomic_store(&hew_page_bound.caches, (size_t)64 << 10);
    CHECK(hew_budget_share() == (size_t)32 << 10); /* a limit of memory is stronger */
    atomic_store(&hew_page_bound.known, false);
    atomic_store(&hew_page_bound.caches, SIZE_MAX);
    hew_budget_set_share(100);
    hew_budget_set_depots(100);
    CHECK(hew_budget_share() == share && hew_budget_depot(1) == depot && hew_budget_step() == step);
}

TEST(all_magazines_of_a_thread_keep_within_its_share_but_for_the_first_objects)
{
    struct hew_cache *first = new_cache();
    begin_crowd(first);
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        work(first, code, 20, 600);
        CHECK(first->own->granted <= hew_budget_share() + first_bytes());
    }
    CHECK_EQUAL(first->own->granted, full_bytes(first));
    end_crowd();
}

/* Misses, without a free in between, until the magazine holds more. */
static unsigned
misses_to_grow(struct hew_cache *cache, unsigned code, unsigned *taken)
{
    size_t before = capacity(cache, code);
    unsigned misses = 0;
    while (capacity(cache, code) == before) {
        while (depth(cache, code) > 0) {
            objects[(*taken)++] = take(cache, code);
        }
        objects[(*taken)++] = take(cache, code);
        misses++;
    }
    return misses;
}

TEST(a_magazine_begins_with_a_few_and_doubles_after_some_misses)
{
    struct hew_cache *cache = new_cache();
    unsigned taken = 0;
    for (size_t expected = 2; expected <= 62; expected = expected * 2 + 2) {
        unsigned misses = misses_to_grow(cache, CODE, &taken);
        CHECK_EQUAL(capacity(cache, CODE), expected);
        CHECK_EQUAL(misses, expected == 2 ? 1 : 7);
    }
    give_many(cache, CODE, taken);
    end_cache();
}

TEST(a_magazine_of_larger_objects_takes_more_misses)
{
    struct hew_cache *cache = new_cache();
    unsigned taken = 0, large = hew_code_of_size(65536);
    CHECK_EQUAL(misses_to_grow(cache, large, &taken), 22);
    CHECK_EQUAL(capacity(cache, large), 1);
    give_many(cache, large, taken);
    end_cache();
}

TEST(a_class_gets_capacity_from_one_that_is_not_used_any_more)
{
    struct hew_cache *cache = new_cache();
    unsigned idle = hew_code_of_size(2048), busy = hew_code_of_size(512);
    work(cache, idle, 10, 400);
    size_t had = capacity(cache, idle);
    CHECK(had > 60);
    work(cache, busy, 80, 4000);
    CHECK(capacity(cache, idle) < had);
    CHECK(capacity(cache, busy) > 200);
    CHECK_EQUAL(cache->own->granted, full_bytes(cache));
    end_cache();
}

/* The class's next miss is not one at which the thread asks for its share. */
static void
miss_with_room_for(struct hew_cache *cache, unsigned code, size_t left)
{
    unsigned taken = 0;
    cache->own->misses = cache->own->misses / 16 * 16 + 3;
    cache->own->share = cache->own->granted + hew_budget_bytes(code, left);
    cache->own->classes[code].earned = 200;
    while (depth(cache, code) > 0) {
        objects[taken++] = take(cache, code);
    }
    objects[taken++] = take(cache, code);
    give_many(cache, code, taken);
}

TEST(a_magazine_takes_what_is_left_of_the_share)
{
    struct hew_cache *cache = new_cache();
    work(cache, CODE, 4, 600);
    size_t has = capacity(cache, CODE);
    CHECK(has >= 31);
    miss_with_room_for(cache, CODE, 0);
    CHECK_EQUAL(capacity(cache, CODE), has);
    miss_with_room_for(cache, CODE, has / 4);
    CHECK_EQUAL(capacity(cache, CODE), has + has / 4);
    end_cache();
}

TEST(a_class_that_the_user_has_chosen_is_never_asked_for_its_room)
{
    struct hew_cache *cache = new_cache();
    unsigned chosen = hew_code_of_size(2048), busy = hew_code_of_size(512);
    hew_own_set_count(cache, chosen, 200);
    for (unsigned round = 0; round < 40; round++) { /* in turns, so that neither is idle */
        work(cache, chosen, 1, 400);
        work(cache, busy, 1, 4000);
    }
    CHECK_EQUAL(capacity(cache, chosen), 200);
    end_cache();
}

/* SPDX-License-Identifier: MIT */
#include "cache/park.h"

#include "cache/count.h"
#include "cache/limit.h"
#include "cache/magazine.h"
#include "cache/thread.h"
#include "layers.h"
#include "test.h"

#define ARENAS 2

static unsigned code;

static struct hew_cache *
begin(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = ARENAS;
    }
    code = hew_code_of_size(100);
    hew_cache_self = &hew_cache_none;
    return hew_thread_birth(true);
}

static void *
take(void)
{
    void *object = hew_cache_pop(hew_cache_self, code);
    return object != NULL ? object : hew_magazine_pop(hew_cache_self, code);
}

static void
give(void *object)
{
    if (!hew_cache_push(hew_cache_self, code, object)) {
        hew_magazine_push(hew_cache_self, code, object);
    }
}

TEST(who_takes_over_finds_the_objects_and_has_asked_for_none)
{
    struct hew_cache *first = begin();
    void *object = take();
    give(object);
    size_t held = hew_count_held(first, code);
    uint64_t requests = hew_arena_at(0)->requests[code];
    hew_thread_leave();
    CHECK(hew_cache_self == &hew_cache_gone);
    CHECK(hew_caches_alive == 0 && first->arena->threads == 0);
    CHECK_EQUAL(hew_arena_at(0)->requests[code], requests + 1);
    CHECK(begin() == first);
    CHECK(hew_count_allocated(first) == 0 && hew_count_freed(first) == 0);
    CHECK_EQUAL(hew_count_held(first, code), held);
    CHECK(take() == object);
    CHECK(hew_count_allocated(first) == 112 && hew_count_freed(first) == 0);
    give(object);
    CHECK(hew_count_allocated(first) == 112 && hew_count_freed(first) == 112);
    hew_thread_death();
    CHECK_EQUAL(hew_arena_at(0)->requests[code], requests + 2);
    CHECK(layers_settled());
}

TEST(what_is_parked_can_be_given_back)
{
    begin();
    give(take());
    hew_thread_leave();
    CHECK(!layers_settled());
    hew_park_empty();
    CHECK(layers_settled());
    hew_park_empty(); /* nothing there: nothing to do */
}

TEST(a_few_caches_an_arena_are_parked_and_no_more)
{
    struct hew_cache *caches[3 * ARENAS + 1];
    for (unsigned i = 0; i < 3 * ARENAS + 1; i++) {
        caches[i] = begin();
        give(take());
    }
    for (unsigned i = 0; i < 3 * ARENAS + 1; i++) {
        hew_cache_self = caches[i];
        hew_thread_leave();
    }
    unsigned parked = 0;
    for (unsigned index = 0; index < ARENAS; index++) {
        struct hew_cache *cache;
        while ((cache = hew_park_take(hew_arena_at(index))) != NULL) {
            CHECK(cache->arena == hew_arena_at(index));
            hew_magazine_drop_all(cache);
            parked++;
        }
    }
    CHECK_EQUAL(parked, 2 * ARENAS);
    CHECK(layers_settled());
}

/* Leaves, and tells whether the cache was parked. */
static bool
is_parked(struct hew_cache *cache)
{
    struct hew_arena *arena = cache->arena;
    hew_thread_leave();
    cache = hew_park_take(arena);
    if (cache != NULL) {
        hew_magazine_drop_all(cache);
    }
    return cache != NULL;
}

TEST(a_cache_that_is_large_or_has_limits_of_its_own_dies_with_its_thread)
{
    CHECK(is_parked(begin()));
    struct hew_cache *cache = begin();
    hew_limit_choose(cache, code, 5);
    CHECK(!is_parked(cache));
    cache = begin();
    hew_thread_set_caching(cache, false);
    CHECK(!is_parked(cache));
    cache = begin();
    cache->granted = HEW_PARK_BYTES + 1;
    CHECK(!is_parked(cache));
    hew_count_watch(1000);
    CHECK(!is_parked(begin()));
    hew_cache_step = 0;
    begin();
    CHECK(hew_thread_counters(hew_cache_self) != NULL);
    CHECK(!is_parked(hew_cache_self->real));
    CHECK(layers_settled());
}

TEST(nothing_is_parked_once_a_program_has_made_an_arena)
{
    struct hew_cache *cache = begin();
    give(take());
    hew_thread_leave();
    hew_mutex_lock(&hew_arenas_lock);
    CHECK(hew_arena_make(ARENAS + 1, true) != NULL);
    hew_mutex_unlock(&hew_arenas_lock);
    CHECK(hew_park_take(cache->arena) == NULL);
    CHECK(layers_settled());
    CHECK(!is_parked(begin()));
}

/* SPDX-License-Identifier: MIT */
#include "cache/kept.h"

#include "cache/count.h"
#include "cache/magazine.h"
#include "cache/thread.h"
#include "layers.h"
#include "page/due.h"
#include "test.h"

#define ARENAS 2

static unsigned code;

static struct hew_cache *
begin(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = ARENAS;
        atomic_fetch_add(&hew_page_mapped, (size_t)32 << 20); /* a heap of which a share is worth half a megabyte */
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

TEST(what_is_kept_can_be_given_back)
{
    begin();
    give(take());
    hew_thread_leave();
    CHECK(!layers_settled());
    hew_kept_empty();
    CHECK(layers_settled());
    hew_kept_empty(); /* nothing there: nothing to do */
}

TEST(a_few_caches_an_arena_are_kept_and_no_more)
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
    unsigned kept = 0;
    for (unsigned index = 0; index < ARENAS; index++) {
        struct hew_cache *cache;
        while ((cache = hew_kept_take(hew_arena_at(index))) != NULL) {
            CHECK(cache->arena == hew_arena_at(index));
            hew_magazine_drop_all(cache);
            kept++;
        }
    }
    CHECK_EQUAL(kept, 2 * ARENAS);
    CHECK(layers_settled());
}

/* Leaves, and tells whether the cache was kept. */
static bool
is_kept(struct hew_cache *cache)
{
    struct hew_arena *arena = cache->arena;
    hew_thread_leave();
    cache = hew_kept_take(arena);
    if (cache != NULL) {
        hew_magazine_drop_all(cache);
    }
    return cache != NULL;
}

static size_t
held_in_all(const struct hew_cache *cache)
{
    size_t held = 0;
    for (unsigned each = 1; each <= HEW_CODE_CACHED_LAST; each++) {
        held += hew_count_held(cache, each);
    }
    return held;
}

TEST(a_cache_that_holds_much_is_kept_with_its_small_objects)
{
    enum { LARGE = 16 };
    void *objects[LARGE], *small;
    struct hew_cache *cache = begin();
    for (unsigned large = hew_code_of_size(2048); large <= HEW_CODE_SMALL_LAST; large++) {
        for (unsigned round = 0; round < 2 * LARGE; round++) { /* used both ways, the magazine grows */
            for (unsigned i = 0; i < LARGE; i++) {
                objects[i] = hew_magazine_pop(cache, large);
            }
            for (unsigned i = 0; i < LARGE; i++) {
                hew_magazine_push(cache, large, objects[i]);
            }
        }
    }
    small = take();
    give(small);
    CHECK(held_in_all(cache) > HEW_KEPT_BYTES);
    hew_thread_leave();
    CHECK(begin() == cache);
    CHECK(held_in_all(cache) <= HEW_KEPT_BYTES && held_in_all(cache) > 0);
    CHECK(take() == small);
    give(small);
    hew_thread_death();
    CHECK(layers_settled());
}

TEST(what_is_kept_is_bounded_whatever_number_of_classes_it_is_of)
{
    enum { OBJECTS = 30 };
    void *objects[OBJECTS];
    struct hew_cache *cache = begin();
    for (unsigned class = hew_code_of_size(256); class <= hew_code_of_size(1024); class ++) {
        for (unsigned round = 0; round < 200; round++) {
            for (unsigned i = 0; i < OBJECTS; i++) {
                objects[i] = hew_magazine_pop(cache, class);
            }
            for (unsigned i = 0; i < OBJECTS; i++) {
                hew_magazine_push(cache, class, objects[i]);
            }
        }
        CHECK(hew_count_held(cache, class) < HEW_KEPT_BYTES);
    }
    CHECK(held_in_all(cache) > HEW_KEPT_BYTES);
    hew_thread_leave();
    CHECK(begin() == cache);
    CHECK(held_in_all(cache) <= HEW_KEPT_BYTES && held_in_all(cache) > HEW_KEPT_BYTES / 2);
    hew_thread_death();
    CHECK(layers_settled());
}

TEST(what_a_thread_asked_for_is_counted_at_its_end_even_where_it_has_no_magazine)
{
    struct hew_cache *cache = begin();
    unsigned first = hew_code_of_size(1), last = HEW_CODE_CACHED_LAST;
    uint64_t before = hew_arena_at(0)->requests[first], before_last = hew_arena_at(0)->requests[last];
    hew_thread_set_count(cache, first, 0);
    hew_thread_set_count(cache, last, 0);
    hew_magazine_push(cache, first, hew_magazine_pop(cache, first));
    hew_magazine_push(cache, last, hew_magazine_pop(cache, last));
    CHECK(cache->classes[first].base == NULL && cache->classes[last].base == NULL);
    CHECK_EQUAL(hew_cache_next_touched(cache, 0), first);
    CHECK_EQUAL(hew_cache_next_touched(cache, first + 1), last);
    CHECK_EQUAL(hew_cache_next_touched(cache, last + 1), HEW_CODES);
    hew_thread_leave();
    CHECK_EQUAL(hew_arena_at(0)->requests[first], before + 1);
    CHECK_EQUAL(hew_arena_at(0)->requests[last], before_last + 1);
    CHECK(layers_settled());
}

TEST(a_cache_with_limits_of_its_own_dies_with_its_thread)
{
    CHECK(is_kept(begin()));
    struct hew_cache *cache = begin();
    hew_thread_set_count(cache, code, 5);
    CHECK(!is_kept(cache));
    cache = begin();
    hew_thread_set_caching(cache, false);
    CHECK(!is_kept(cache));
    hew_count_watch(1000);
    CHECK(!is_kept(begin()));
    hew_cache_step = 0;
    begin();
    CHECK(hew_thread_counters(hew_cache_self) != NULL);
    CHECK(!is_kept(hew_cache_self->real));
    CHECK(layers_settled());
}

TEST(nothing_is_kept_once_a_program_has_made_an_arena)
{
    struct hew_cache *cache = begin();
    give(take());
    hew_thread_leave();
    hew_mutex_lock(&hew_arenas_lock);
    CHECK(hew_arena_make(ARENAS + 1, true) != NULL);
    hew_mutex_unlock(&hew_arenas_lock);
    CHECK(hew_kept_take(cache->arena) == NULL);
    CHECK(layers_settled());
    CHECK(!is_kept(begin()));
}

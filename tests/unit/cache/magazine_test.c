/* SPDX-License-Identifier: MIT */
/* magazine: over one arena.  Each test works with a cache of its own. */
#include "one_thread.h"

#include "cache/own.h"
#include "cache/owner.h"
#include "cache/thread.h"

TEST(a_class_without_a_magazine_is_empty_and_full_at_once)
{
    struct hew_cache *cache = new_cache();
    for (unsigned code = 0; code < HEW_CODES; code++) {
        CHECK(hew_cache_pop(code) == NULL);
        CHECK(!hew_cache_push(code, &objects[0]));
        CHECK_EQUAL(depth(cache, code), 0);
    }
    end_cache();
}

TEST(a_filled_magazine_hands_out_the_lowest_address_first)
{
    struct hew_cache *cache = new_cache();
    take_many(cache, CODE, 2000);
    for (unsigned i = 1; i < 2000; i++) {
        CHECK(objects[i] > objects[i - 1]);
    }
    give_many(cache, CODE, 2000);
    end_cache();
}

TEST(the_first_miss_asks_what_the_threads_share_is)
{
    struct hew_cache *cache = new_cache();
    cache->own->share = 0;
    take_many(cache, CODE, 1);
    CHECK(cache->own->share != 0);
    give_many(cache, CODE, 1);
    end_cache();
}

TEST(the_newest_object_is_handed_out_first)
{
    struct hew_cache *cache = new_cache();
    take_many(cache, CODE, 3);
    give(cache, CODE, objects[2]);
    give(cache, CODE, objects[0]);
    CHECK(take(cache, CODE) == objects[0]);
    CHECK(take(cache, CODE) == objects[2]);
    give_many(cache, CODE, 3);
    end_cache();
}

TEST(a_thread_that_only_frees_keeps_what_one_step_brings_at_most)
{
    struct hew_cache *cache = new_cache();
    unsigned code = hew_code_of_size(8192), given = 0, got = 20;
    layers_take_regions(cache->arena, code, objects, got);
    while (given < got) {
        give(cache, code, objects[given++]);
        CHECK(depth(cache, code) <= 4); /* what one step brings */
    }
    CHECK(capacity(cache, code) <= 4);
    CHECK(hew_depot_held(code) >= 16);
    end_cache();
}

TEST(what_one_thread_frees_another_one_gets)
{
    struct hew_cache *cache = new_cache();
    take_many(cache, CODE, OBJECTS_MAX);
    give_many(cache, CODE, OBJECTS_MAX);
    uint64_t made = cache->arena->bins[CODE].counts.nmalloc;
    struct hew_cache *other = hew_thread_birth(true);
    CHECK(other != NULL && other != cache);
    take_many(other, CODE, 300);
    CHECK_EQUAL(cache->arena->bins[CODE].counts.nmalloc, made);
    give_many(other, CODE, 300);
    hew_thread_death();
    layers_become(cache);
    end_cache();
}

TEST(fresh_objects_of_two_threads_do_not_share_a_line)
{
    for (size_t size = 8; size <= 32; size *= 2) {
        struct hew_cache *cache = new_cache();
        unsigned code = hew_code_of_size(size), line = (unsigned)(HEW_CACHE_LINE / size);
        struct hew_cache *other = hew_thread_birth(true);
        CHECK(other != NULL && other->arena == cache->arena);
        for (unsigned i = 0; i < 8 * line; i++) {
            objects[2 * i] = take(cache, code);
            objects[2 * i + 1] = take(other, code);
        }
        for (unsigned i = 0; i < 16 * line; i++) {
            for (unsigned k = (i + 1) % 2; k < 16 * line; k += 2) {
                CHECK((uintptr_t)objects[i] / HEW_CACHE_LINE != (uintptr_t)objects[k] / HEW_CACHE_LINE);
            }
        }
        give_many(other, code, 16 * line);
        hew_thread_death();
        layers_become(cache);
        end_cache();
    }
}

/* Gives objects back until a full magazine has made room; how many there are then. */
static size_t
depth_after_overflow(struct hew_cache *cache, unsigned *given)
{
    size_t before;
    do {
        before = depth(cache, CODE);
        give(cache, CODE, objects[(*given)++]);
    } while (depth(cache, CODE) > before);
    return depth(cache, CODE);
}

TEST(half_of_a_full_magazine_stays_and_at_the_next_time_in_a_row_nothing)
{
    struct hew_cache *cache = new_cache();
    work(cache, CODE, 40, 1200);
    size_t full = capacity(cache, CODE);
    unsigned given = 0;
    take_many(cache, CODE, OBJECTS_MAX);
    CHECK_EQUAL(depth_after_overflow(cache, &given), full - full / 2 + 1);
    CHECK_EQUAL(depth_after_overflow(cache, &given), 1);
    while (given < OBJECTS_MAX) {
        give(cache, CODE, objects[given++]);
    }
    end_cache();
}

TEST(a_magazine_that_is_emptied_and_filled_grows_to_its_bound)
{
    struct hew_cache *cache = new_cache();
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        size_t size = hew_code_size(code), bytes = ((size_t)256 << 10) / size, bound = bytes > 1023 ? 1023 : bytes;
        work(cache, code, 40, 1200);
        CHECK(capacity(cache, code) <= bound && capacity(cache, code) + bound / 4 >= bound);
        CHECK_EQUAL(cache->own->granted, full_bytes(cache));
        hew_slot_empty(cache->own); /* all together would be more than a thread's share */
    }
    end_cache();
}

TEST(a_fill_brings_four_objects_at_least_where_the_magazine_has_room)
{
    struct hew_cache *cache = new_cache();
    const size_t sizes[] = {1024, 4096, 8192, HEW_SMALL_MAX};
    for (unsigned i = 0; i < 4; i++) {
        unsigned code = hew_code_of_size(sizes[i]);
        work(cache, code, 10, 40);
        clear(cache, code);
        CHECK(capacity(cache, code) >= 7);
        void *object = take(cache, code);
        CHECK(depth(cache, code) >= 3); /* and one is out */
        give(cache, code, object);
        hew_slot_empty(cache->own); /* what the others hold would bound it */
    }
    end_cache();
}

TEST(a_fill_brings_half_of_what_the_magazine_has_room_for_and_all_of_it_at_the_next_time_in_a_row)
{
    struct hew_cache *cache = new_cache();
    hew_own_set_count(cache, CODE, 20);
    work(cache, CODE, 100, 60); /* the last that it missed was room */
    CHECK_EQUAL(capacity(cache, CODE), 20);
    clear(cache, CODE);
    objects[0] = take(cache, CODE);
    CHECK_EQUAL(depth(cache, CODE) + 1, 11);
    clear(cache, CODE);
    objects[1] = take(cache, CODE);
    CHECK_EQUAL(depth(cache, CODE) + 1, 20);
    give_many(cache, CODE, 2);
    end_cache();
}

TEST(a_burst_that_fits_does_not_make_a_magazine_grow)
{
    struct hew_cache *cache = new_cache();
    work(cache, CODE, 3, 20);
    size_t before = capacity(cache, CODE);
    work(cache, CODE, 500, 10);
    CHECK_EQUAL(capacity(cache, CODE), before);
    end_cache();
}

TEST(an_object_that_comes_by_the_slow_path_does_not_make_a_magazine_with_room_grow)
{
    struct hew_cache *cache = new_cache();
    work(cache, CODE, 1, 4);
    size_t before = capacity(cache, CODE);
    for (unsigned round = 0; round < 100; round++) {
        void *object = take(cache, CODE);
        hew_magazine_push(cache, CODE, object);
    }
    CHECK_EQUAL(capacity(cache, CODE), before);
    end_cache();
}

TEST(every_allocation_is_counted_once)
{
    struct hew_cache *cache = new_cache();
    uint64_t taken[HEW_CODES] = {0};
    for (unsigned round = 0; round < 300; round++) {
        unsigned code = 1 + round % HEW_CODE_SMALL_LAST, burst = 1 + round * 37 % 700;
        take_many(cache, code, burst);
        give_many(cache, code, burst);
        taken[code] += burst;
    }
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        CHECK_EQUAL(hew_cache_requests(cache, code), taken[code]);
    }
    end_cache();
}

TEST(allocations_of_a_class_that_may_have_no_magazine_are_counted_too)
{
    struct hew_cache *cache = new_cache();
    unsigned code = hew_code_of_size(2048);
    hew_own_set_sizes(cache, 1024);
    work(cache, code, 3, 700);
    CHECK_EQUAL(capacity(cache, code), 0);
    CHECK_EQUAL(hew_cache_requests(cache, code), 2100);
    end_cache();
}

TEST(objects_taken_by_the_slow_path_alone_are_counted_too)
{
    struct hew_cache *cache = new_cache();
    for (unsigned i = 0; i < 3 * HEW_CACHE_PERIOD; i++) {
        void *object = hew_magazine_pop(cache, CODE);
        give(cache, CODE, object);
        give(cache, CODE, take(cache, CODE));
    }
    CHECK_EQUAL(hew_cache_requests(cache, CODE), 6 * HEW_CACHE_PERIOD);
    end_cache();
}

TEST(large_classes_are_served_and_counted_as_small_ones)
{
    struct hew_cache *cache = new_cache();
    unsigned code = hew_code_of_size(20480);
    for (unsigned i = 0; i < 3000; i++) {
        give(cache, code, take(cache, code));
    }
    CHECK_EQUAL(hew_cache_requests(cache, code), 3000);
    CHECK(layers_large(cache->arena).nmalloc < 3000 / 10); /* the magazine served most of them */
    end_cache();
}

TEST(an_idle_class_loses_its_magazine_while_others_work)
{
    struct hew_cache *cache = new_cache();
    unsigned idle = hew_code_of_size(4096);
    work(cache, idle, 1, 30);
    CHECK(capacity(cache, idle) != 0);
    CHECK(depth(cache, idle) > 0);
    work(cache, CODE, 6 * HEW_CODES / 4, HEW_CACHE_PERIOD); /* every tick looks after 4 classes, and halves */
    CHECK(capacity(cache, idle) == 0);
    CHECK_EQUAL(depth(cache, idle), 0);
    hew_depot_drain(true);
    CHECK_EQUAL(cache->arena->bins[idle].counts.nmalloc, cache->arena->bins[idle].counts.ndalloc);
    CHECK_EQUAL(cache->own->granted, full_bytes(cache));
    end_cache();
}

TEST(a_class_in_use_keeps_its_magazine)
{
    struct hew_cache *cache = new_cache();
    unsigned used = hew_code_of_size(256);
    work(cache, used, 5, 30);
    for (unsigned round = 0; round < 200; round++) {
        work(cache, used, 1, 1);
        work(cache, CODE, 1, 500);
    }
    CHECK(capacity(cache, used) != 0);
    end_cache();
}

TEST(a_class_that_never_missed_loses_half_of_its_room_again_and_again)
{
    struct hew_cache *cache = new_cache();
    unsigned code = hew_code_of_size(128);
    work(cache, code, 20, 500);
    size_t deep = depth(cache, code);
    CHECK(deep > 200);
    work(cache, code, 20 * HEW_CACHE_PERIOD * HEW_CODES / 4, 1); /* now it needs one */
    CHECK(depth(cache, code) <= 2);
    CHECK(capacity(cache, code) != 0);
    end_cache();
}

TEST(emptying_gives_everything_back_and_the_class_can_begin_again)
{
    struct hew_cache *cache = new_cache();
    work(cache, CODE, 20, 600);
    CHECK(hew_slot_empty(cache->own));
    CHECK(capacity(cache, CODE) == 0 && hew_cache_pop(CODE) == NULL);
    CHECK_EQUAL(cache->own->granted, 0);
    hew_depot_drain(true);
    CHECK_EQUAL(cache->arena->bins[CODE].counts.nmalloc, cache->arena->bins[CODE].counts.ndalloc);
    CHECK(hew_slot_empty(cache->own)); /* nothing there: nothing to do */
    work(cache, CODE, 2, 10);
    CHECK(depth(cache, CODE) > 0);
    end_cache();
}

TEST(a_full_magazine_of_one_object_makes_room_for_the_next)
{
    struct hew_cache *cache = new_cache();
    unsigned code = hew_code_of_size((size_t)1 << 20);
    CHECK(hew_own_set_count(cache, code, 1));
    struct hew_extent *heap =
        hew_large_take(cache->arena, (size_t)64 << 20, HEW_PAGE, HEW_CODE_SLOW); /* a part of it is the share */
    struct hew_extent *one = hew_large_take(cache->arena, (size_t)1 << 20, HEW_PAGE, code);
    struct hew_extent *two = hew_large_take(cache->arena, (size_t)1 << 20, HEW_PAGE, code);
    for (unsigned i = 0; i < 30; i++) { /* the thread asks for such objects */
        give(cache, code, take(cache, code));
    }
    give(cache, code, (void *)one->address);
    CHECK_EQUAL(capacity(cache, code), 1);
    give(cache, code, (void *)two->address);
    CHECK_EQUAL(depth(cache, code), 1);
    CHECK(take(cache, code) == (void *)two->address);
    give(cache, code, (void *)two->address);
    hew_depot_drain(true);
    hew_large_give(heap);
    hew_page_sweep(cache->arena->pages.heap);
    CHECK_EQUAL(layers_large(cache->arena).ndalloc + 1, layers_large(cache->arena).nmalloc);
    end_cache();
}

TEST(a_magazine_without_memory_for_its_slots_does_without)
{
    struct hew_cache *cache = new_cache();
    take_many(cache, CODE, 1); /* a slab and its neighbours are there */
    void *first = objects[0];
    hew_slot_empty(cache->own);
    hew_os_faults.refuse = layers_refuse_everything;
    layers_use_up_metadata();
    take_many(cache, CODE, 20);
    CHECK(capacity(cache, CODE) == 0);
    CHECK_EQUAL(cache->own->granted, 0);
    give_many(cache, CODE, 20);
    give(cache, CODE, first);
    CHECK_EQUAL(depth(cache, CODE), 0);
    hew_os_faults.refuse = NULL;
    work(cache, CODE, 1, 10);
    CHECK(capacity(cache, CODE) != 0);
    end_cache();
}

TEST(a_magazine_without_objects_says_so_and_recovers)
{
    struct hew_cache *cache = new_cache();
    unsigned code = hew_code_of_size(12288);
    hew_page_release(cache->arena->pages.heap);
    hew_os_faults.refuse = layers_refuse_everything;
    unsigned got = 0;
    while (got < OBJECTS_MAX && (objects[got] = take(cache, code)) != NULL) {
        got++;
    }
    CHECK(got < OBJECTS_MAX);
    CHECK(take(cache, code) == NULL);
    hew_os_faults.refuse = NULL;
    CHECK_EQUAL(hew_cache_requests(cache, code), got);
    objects[got] = take(cache, code);
    CHECK(objects[got] != NULL);
    give_many(cache, code, got + 1);
    end_cache();
}

TEST(an_object_that_comes_back_unused_is_the_next_one_or_its_owners_where_there_is_no_room)
{
    struct hew_cache *cache = new_cache();
    void *object = take(cache, CODE);
    size_t before = depth(cache, CODE);
    hew_magazine_unpop(cache, CODE, object);
    CHECK_EQUAL(depth(cache, CODE), before + 1);
    CHECK(take(cache, CODE) == object);
    give(cache, CODE, object);
    unsigned given = 0;
    take_many(cache, CODE, 1000);
    while (hew_slot_push(&cache->where, CODE, objects[given]) == HEW_PUSH_DONE) {
        given++;
    }
    size_t full = depth(cache, CODE);
    hew_magazine_unpop(cache, CODE, objects[999]);
    hew_magazine_unpop(cache, CODE, objects[998]);
    CHECK_EQUAL(depth(cache, CODE), full);
    while (given < 998) {
        give(cache, CODE, objects[given++]);
    }
    end_cache();
}

TEST(an_idle_class_keeps_half_of_its_room_when_it_is_looked_after)
{
    struct hew_cache *cache = new_cache();
    unsigned code = hew_code_of_size(128), other = hew_code_of_size(512);
    work(cache, code, 20, 500);
    size_t before = capacity(cache, code);
    CHECK(before > 200);
    for (unsigned period = 0; period < HEW_CODES && capacity(cache, code) == before; period++) {
        work(cache, other, HEW_CACHE_PERIOD, 1);
    }
    CHECK_EQUAL(capacity(cache, code), before / 2);
    end_cache();
}

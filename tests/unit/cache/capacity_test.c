/* SPDX-License-Identifier: MIT */
/* capacity: what a thread's magazines may hold, together and for a burst. */
#include "one_thread.h"

/* Six hundred more threads: each one's share is the least there is. */
static void
begin_crowd(struct hew_cache *first, struct hew_cache *others[600])
{
    for (unsigned i = 0; i < 600; i++) {
        others[i] = hew_thread_birth(true);
        CHECK(others[i] != NULL);
    }
    CHECK_EQUAL(hew_caches_alive, 601);
    hew_cache_self = first;
}

static void
end_crowd(struct hew_cache *others[600])
{
    hew_thread_death();
    for (unsigned i = 0; i < 600; i++) {
        hew_cache_self = others[i];
        hew_thread_death();
    }
    CHECK_EQUAL(hew_caches_alive, 0);
    CHECK(layers_settled());
}

TEST(all_magazines_of_a_thread_keep_within_its_share_of_the_budget)
{
    struct hew_cache *first = new_cache(), *others[600];
    begin_crowd(first, others);
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        work(first, code, 20, 600);
        CHECK(first->granted <= (size_t)41 << 10); /* the least share: the budget / 601 is less */
    }
    CHECK_EQUAL(first->granted, full_bytes(first));
    end_crowd(others);
}

TEST(a_class_begins_with_few_objects_where_the_share_has_no_room_for_the_usual_ones)
{
    struct hew_cache *first = new_cache(), *others[600];
    unsigned rich = hew_code_of_size(64), roomy = hew_code_of_size(512);
    begin_crowd(first, others);
    work(first, rich, 40, 200);
    give(first, roomy, take(first, roomy));
    CHECK_EQUAL(capacity(first, roomy), 7); /* there is room */
    size_t share = hew_capacity_share();
    first->granted += share; /* now there is none; the rich class gives some up */
    for (size_t size = 128; size <= 1024; size *= 2) {
        unsigned code = hew_code_of_size(size);
        hew_magazine_drop(first, code);
        give(first, code, take(first, code));
        size_t few = share / 64 / size;
        CHECK_EQUAL(capacity(first, code), few == 0 ? 1 : few < 7 ? few : 7);
    }
    first->granted -= share;
    CHECK_EQUAL(first->granted, full_bytes(first));
    end_crowd(others);
}

/* Every class in turn, so that none is idle for long. */
static void
work_all(struct hew_cache *cache)
{
    for (unsigned round = 0; round < 40; round++) {
        for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
            work(cache, code, 1, 600);
        }
    }
}

static bool
lends_to(const struct hew_cache *cache, unsigned code)
{
    return cache->loan.code == code && hew_capacity_of(cache, code) > 2 * cache->loan.capacity;
}

/* Two classes of sizes 512 and 448, for whose growth nothing is left; returns what has been added to `granted` for that. */
static size_t
use_up_share(struct hew_cache *cache, unsigned *first, unsigned *second)
{
    *first = hew_code_of_size(512);
    *second = hew_code_of_size(448);
    work(cache, *first, 4, 20);
    work(cache, *second, 4, 20);
    CHECK(capacity(cache, *first) >= 7 && capacity(cache, *second) >= 7 && cache->loan.code == HEW_CODE_NONE);
    size_t more = 2 * hew_capacity_share();
    cache->granted += more;
    return more;
}

TEST(an_eighth_of_the_share_goes_to_the_class_that_is_in_a_burst)
{
    struct hew_cache *cache = new_cache();
    unsigned first, second;
    size_t more = use_up_share(cache, &first, &second), most = hew_capacity_share() / 8;
    work(cache, first, 2, 1200);
    CHECK(lends_to(cache, first) && hew_capacity_of(cache, first) * 512 <= most);
    work(cache, second, 2, 1200);
    CHECK(lends_to(cache, second) && hew_capacity_of(cache, second) * 448 <= most);
    CHECK_EQUAL(hew_capacity_of(cache, first), capacity(cache, first));
    CHECK(hew_cache_depth(cache, first) <= capacity(cache, first));
    cache->granted -= more;
    CHECK_EQUAL(cache->granted, full_bytes(cache));
    end_cache();
}

TEST(a_class_that_goes_on_keeps_the_loan_while_another_asks_for_it)
{
    struct hew_cache *cache = new_cache();
    unsigned first, second;
    size_t more = use_up_share(cache, &first, &second);
    void *others[1200];
    work(cache, first, 2, 1200);
    for (unsigned i = 0; i < 1200; i++) { /* both are emptied side by side */
        objects[i] = take(cache, first);
        others[i] = take(cache, second);
        CHECK(lends_to(cache, first));
    }
    for (unsigned i = 0; i < 1200; i++) {
        give(cache, second, others[i]); /* only one of them is filled */
    }
    CHECK(lends_to(cache, second));
    give_many(cache, first, 1200);
    cache->granted -= more;
    end_cache();
}

TEST(a_class_that_loses_its_magazine_is_without_the_loan)
{
    struct hew_cache *cache = new_cache();
    unsigned first, second;
    size_t more = use_up_share(cache, &first, &second);
    work(cache, first, 2, 1200);
    CHECK(lends_to(cache, first));
    hew_magazine_drop(cache, first);
    CHECK(cache->loan.code == HEW_CODE_NONE && cache->base[first] == NULL);
    work(cache, second, 2, 1200);
    CHECK(lends_to(cache, second));
    cache->granted -= more;
    CHECK_EQUAL(cache->granted, full_bytes(cache));
    end_cache();
}

TEST(a_second_fill_in_a_row_brings_a_whole_magazine)
{
    struct hew_cache *cache = new_cache();
    unsigned code = hew_code_of_size(16); /* a slab has more than a magazine of them */
    work(cache, code, 20, 150);
    size_t full = capacity(cache, code), half = (full + 1) / 2;
    CHECK(full > 63 && full < 512); /* no longer lean */
    hew_magazine_flush(cache, code, 0);
    objects[0] = take(cache, code);
    CHECK(hew_cache_depth(cache, code) < half);
    for (unsigned i = 1; i <= half; i++) {
        objects[i] = take(cache, code);
    }
    CHECK(hew_cache_depth(cache, code) >= half);
    give_many(cache, code, (unsigned)half + 1);
    end_cache();
}

TEST(a_class_that_comes_late_gets_room_from_those_that_hold_most)
{
    struct hew_cache *cache = new_cache();
    unsigned late = hew_code_of_size(16);
    work_all(cache);
    hew_magazine_drop(cache, late);
    size_t share = hew_capacity_share();
    cache->granted += share; /* nothing is left */
    work(cache, late, 3, 600);
    CHECK(capacity(cache, late) >= 7);
    work(cache, late, 30, 600);
    CHECK(hew_capacity_of(cache, late) >= 127);
    cache->granted -= share;
    CHECK_EQUAL(cache->granted, full_bytes(cache));
    CHECK(cache->granted <= share);
    end_cache();
}

TEST(a_class_gives_up_room_until_it_needs_it_as_much_as_the_other)
{
    struct hew_cache *cache = new_cache();
    unsigned first = hew_code_of_size(512), second = hew_code_of_size(448);
    work(cache, first, 40, 63);
    size_t share = hew_capacity_share();
    cache->granted += share;
    work(cache, second, 10, 90); /* less than a period: nobody finds the first one idle */
    CHECK(hew_capacity_of(cache, second) >= 15 && capacity(cache, second) <= capacity(cache, first) * 3 / 2 + 1);
    CHECK_EQUAL(cache->granted - share, full_bytes(cache));
    end_cache();
}

TEST(small_objects_get_more_places_and_large_ones_more_memory)
{
    struct hew_cache *first = new_cache(), *others[600];
    begin_crowd(first, others);
    for (unsigned round = 0; round < 200; round++) {
        for (size_t size = 64; size <= 1024; size *= 2) {
            work(first, hew_code_of_size(size), 1, 100);
        }
    }
    size_t small = capacity(first, hew_code_of_size(64)), large = capacity(first, hew_code_of_size(1024));
    CHECK(small > large && small < 8 * large); /* 16 times: as many bytes */
    end_crowd(others);
}

TEST(a_magazine_grows_by_half_where_the_share_has_no_room_for_twice_as_much)
{
    struct hew_cache *cache = new_cache();
    work(cache, CODE, 1, 7);
    cache->most[CODE] = 13; /* too little for a loan */
    size_t left_out = hew_capacity_share() - hew_capacity_share() / 8 - cache->granted - hew_capacity_bytes(CODE, 5);
    cache->granted += left_out;
    work(cache, CODE, 20, 8);
    CHECK_EQUAL(capacity(cache, CODE), 11);
    cache->granted -= left_out;
    end_cache();
}

TEST(the_budget_grows_with_the_heap)
{
    struct hew_cache *caches[4];
    for (unsigned i = 0; i < 4; i++) {
        caches[i] = new_cache();
    }
    hew_page_release(&caches[3]->arena->pages);
    caches[3]->arena->pages.grow_bytes = (size_t)1 << 20; /* as a new heap */
    work_all(caches[3]);
    CHECK(hew_page_mapped < (size_t)32 << 20); /* a heap for which the least budget of 1.5 MiB holds */
    CHECK(caches[3]->granted > (size_t)192 << 10 && caches[3]->granted <= (size_t)384 << 10);
    struct hew_extent *heap = hew_large_take(caches[3]->arena, (size_t)512 << 20, HEW_PAGE, HEW_CODE_SLOW);
    work_all(caches[3]);
    CHECK(caches[3]->granted > (size_t)512 << 10 && caches[3]->granted <= (size_t)4 << 20);
    CHECK_EQUAL(caches[3]->granted, full_bytes(caches[3]));
    hew_large_give(heap);
    for (unsigned i = 0; i < 4; i++) {
        hew_cache_self = caches[i];
        hew_thread_death();
    }
    CHECK(layers_settled());
}

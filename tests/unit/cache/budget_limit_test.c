/* SPDX-License-Identifier: MIT */
/* budget: what the settings come to for each class.  The first cache of a process computes them, so each test has a child. */
#include "cache/budget.h"

#include "cache/own.h"
#include "one_thread.h"

#include "fakes/child.h"

#define KIB ((size_t)1 << 10)

static unsigned
most(const struct hew_cache *cache, size_t size)
{
    return (unsigned)hew_budget_most(cache->own, hew_code_of_size(size));
}

static bool
is_chosen(const struct hew_cache *cache, size_t size)
{
    return hew_budget_is_chosen(cache->own, hew_code_of_size(size));
}

static void
by_bytes(void)
{
    hew_options.tcache_max = 64 * KIB;
    struct hew_cache *cache = new_cache();
    CHECK(!is_chosen(cache, 64) && !is_chosen(cache, 64 * KIB));
    CHECK(most(cache, 1024) > most(cache, 2048) && most(cache, 2048) >= 1);
    CHECK_EQUAL(most(cache, 1024), 2 * most(cache, 2048));
    CHECK_EQUAL(most(cache, 32 * KIB), 2 * most(cache, 64 * KIB));
    CHECK(most(cache, 8) <= HEW_BUDGET_OBJECTS_MAX && most(cache, 8) >= most(cache, 16));
    CHECK_EQUAL(most(cache, 80 * KIB), 0);
}

TEST(by_default_each_class_has_the_same_bytes_up_to_the_largest_cached_size)
{
    CHECK_EQUAL(child_run(by_bytes).status, 0);
}

static void
ranges(void)
{
    hew_options.tcache_ncached_max.count = 3;
    hew_options.tcache_ncached_max.at[0].low = 16;
    hew_options.tcache_ncached_max.at[0].high = 256;
    hew_options.tcache_ncached_max.at[0].value = 7;
    hew_options.tcache_ncached_max.at[1].low = 64;
    hew_options.tcache_ncached_max.at[1].high = 128;
    hew_options.tcache_ncached_max.at[1].value = 9;
    hew_options.tcache_ncached_max.at[2].low = 1024;
    hew_options.tcache_ncached_max.at[2].high = 1024;
    hew_options.tcache_ncached_max.at[2].value = 60000;
    struct hew_cache *cache = new_cache();
    CHECK(most(cache, 16) == 7 && most(cache, 48) == 7 && most(cache, 160) == 7 && most(cache, 256) == 7);
    CHECK(most(cache, 64) == 9 && most(cache, 128) == 9);
    CHECK(is_chosen(cache, 16) && is_chosen(cache, 64) && !is_chosen(cache, 320) && !is_chosen(cache, 8));
    CHECK_EQUAL(most(cache, 1024), HEW_BUDGET_OBJECTS_MAX);
    CHECK(!is_chosen(cache, 896) && !is_chosen(cache, 1280));
}

TEST(the_last_range_that_names_a_size_decides_and_no_class_holds_more_than_the_most)
{
    CHECK_EQUAL(child_run(ranges).status, 0);
}

/* In a child: what a class of `size` may hold when its slab has `regions`. */
static void
check_slots(size_t size, size_t wanted)
{
    struct hew_cache *cache = new_cache();
    CHECK_EQUAL(most(cache, size), wanted);
    CHECK(is_chosen(cache, size));
}

#define REGIONS(size) hew_slab_shapes[hew_code_of_size(size)].regions

static void
slots_doubled(void)
{
    hew_options.tcache_nslots_small_max = 5000;
    CHECK(layers_boot());
    check_slots(1024, REGIONS(1024) * 2 < 20 ? 20 : REGIONS(1024) * 2);
    check_slots(8, REGIONS(8) * 2);
    check_slots(20 * KIB, 20);
}

static void
slots_halved(void)
{
    hew_options.lg_tcache_nslots_mul = -1;
    hew_options.tcache_nslots_small_min = 1;
    CHECK(layers_boot());
    check_slots(64, REGIONS(64) / 2);
    check_slots(8, 200);
}

static void
slots_with_crossed_bounds(void)
{
    hew_options.tcache_nslots_small_min = 300;
    hew_options.tcache_nslots_small_max = 10;
    CHECK(layers_boot());
    check_slots(1024, 300);
    check_slots(8, 300);
}

static void
slots_of_large(void)
{
    hew_options.tcache_nslots_large = 3;
    CHECK(layers_boot());
    check_slots(20 * KIB, 3);
    check_slots(8192, REGIONS(8192) * 2 < 20 ? 20 : REGIONS(8192) * 2);
}

TEST(whoever_sets_one_of_jemallocs_slots_gets_its_rule)
{
    CHECK_EQUAL(child_run(slots_doubled).status, 0);
    CHECK_EQUAL(child_run(slots_halved).status, 0);
    CHECK_EQUAL(child_run(slots_with_crossed_bounds).status, 0);
    CHECK_EQUAL(child_run(slots_of_large).status, 0);
}

static void
chosen_sizes(void)
{
    hew_options.tcache_max = 32 * KIB;
    struct hew_cache *cache = new_cache();
    unsigned usual = most(cache, 2048);
    hew_own_set_count(cache, hew_code_of_size(1024), 5);
    hew_own_set_count(cache, hew_code_of_size(512), 0);
    hew_own_set_sizes(cache, 1024);
    CHECK(most(cache, 1024) == 5 && is_chosen(cache, 1024));
    CHECK(most(cache, 512) == 0 && is_chosen(cache, 512)); /* none was the user's choice */
    CHECK(most(cache, 1280) == 0 && most(cache, 2048) == 0 && !is_chosen(cache, 2048));
    hew_own_set_sizes(cache, 64 * KIB);
    CHECK_EQUAL(most(cache, 2048), usual);
    CHECK(most(cache, 64 * KIB) != 0 && most(cache, 80 * KIB) == 0);
    CHECK(most(cache, 1024) == 5 && most(cache, 512) == 0);
    end_cache();
}

TEST(a_threads_largest_size_takes_classes_in_and_out_but_for_those_whose_number_was_chosen)
{
    CHECK_EQUAL(child_run(chosen_sizes).status, 0);
}

static void
cache_all(void)
{
    hew_options.tcache_max = HEW_CACHED_MAX;
    CHECK(layers_boot());
    struct hew_cache *cache = new_cache();
    CHECK_EQUAL(hew_budget_most(cache->own, HEW_CODE_CACHED_LAST), 1);
}

TEST(the_last_class_that_can_be_cached_is_cached_where_the_settings_say_so)
{
    CHECK_EQUAL(child_run(cache_all).status, 0);
}

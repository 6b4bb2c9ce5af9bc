/* SPDX-License-Identifier: MIT */

#include "cache/count.h"
#include "cache/magazine.h"
#include "cache/thread.h"
#include "layers.h"
#include "test.h"

static struct hew_cache *
boot_once(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_thread_birth(true);
    }
    return hew_cache_self;
}

TEST(the_first_who_asks_gets_all_that_the_thread_holds)
{
    struct hew_cache *cache = boot_once();
    CHECK_EQUAL(hew_cache_step, 0);
    hew_count_other_allocated(cache, 5000);
    CHECK_EQUAL(hew_count_peak_read(cache), 5000);
    CHECK(hew_cache_step != 0);
}

TEST(the_peak_stays_until_it_is_begun_anew)
{
    struct hew_cache *cache = boot_once();
    hew_count_peak_begin(cache);
    CHECK_EQUAL(hew_count_peak_read(cache), 0);
    hew_count_other_allocated(cache, 1 << 20);
    hew_count_peak_look(cache);
    hew_count_other_freed(cache, 1 << 20);
    hew_count_other_allocated(cache, 1000);
    CHECK_EQUAL(hew_count_peak_read(cache), 1 << 20);
    hew_count_peak_begin(cache);
    CHECK_EQUAL(hew_count_peak_read(cache), 0);
}

TEST(what_is_only_freed_is_no_peak)
{
    struct hew_cache *cache = boot_once();
    hew_count_peak_begin(cache);
    hew_count_other_freed(cache, 10 << 20);
    CHECK_EQUAL(hew_count_peak_read(cache), 0);
    hew_count_other_allocated(cache, 9 << 20);
    CHECK_EQUAL(hew_count_peak_read(cache), 0);
    hew_count_other_allocated(cache, 2 << 20);
    CHECK_EQUAL(hew_count_peak_read(cache), 1 << 20);
}

TEST(a_thread_is_due_for_a_report_when_it_has_allocated_a_step_since_the_last_one)
{
    struct hew_cache *cache = boot_once();
    size_t before = atomic_load(&hew_cache_step);
    atomic_store(&hew_cache_step, 1000);
    cache->reported = hew_count_allocated(cache);
    cache->due = 0;
    cache->other_allocated += 999;
    hew_magazine_watch(cache);
    CHECK_EQUAL(cache->due, 0);
    cache->other_allocated += 1;
    hew_magazine_watch(cache);
    CHECK_EQUAL(cache->due, HEW_DUE_BYTES);
    cache->due = 0;
    cache->other_freed += 1000;
    atomic_store(&hew_cache_step, before);
}

/* SPDX-License-Identifier: MIT */
#include "stats/peak.h"

#include "cache/depot.h"
#include "layers_alloc.h"
#include "test.h"

#define SMALL 4000
#define SMALL_BYTES 128
#define LARGE 64
#define LARGE_BYTES ((size_t)48 << 10)

static void *small[SMALL], *large[LARGE];

static uint64_t
sum_of_parts(const struct hew_stats_peak *peak)
{
    return peak->live + peak->thread_caches + peak->depots + peak->slabs + peak->kept + peak->idle + peak->metadata;
}

TEST(a_heap_below_the_first_mark_has_no_peak)
{
    CHECK(layers_boot());
    hew_options.narenas = 1;
    small[0] = layers_malloc(SMALL_BYTES);
    CHECK_EQUAL(hew_stats_peak().resident, 0);
    layers_free(small[0]);
}

TEST(the_parts_of_a_peak_are_what_the_program_and_the_library_hold)
{
    for (unsigned i = 0; i < LARGE; i++) {
        large[i] = layers_malloc(LARGE_BYTES);
    }
    for (unsigned i = 0; i < SMALL; i++) {
        small[i] = layers_malloc(SMALL_BYTES);
    }
    hew_stats_peak_look();
    struct hew_stats_peak peak = hew_stats_peak();
    CHECK_EQUAL(peak.live, SMALL * SMALL_BYTES + LARGE * LARGE_BYTES);
    CHECK_EQUAL(peak.resident, sum_of_parts(&peak));
    CHECK_EQUAL(peak.kept + peak.idle + peak.depots, 0);
    CHECK(peak.slabs + peak.thread_caches <= 2 * HEW_GRAIN);
    CHECK(peak.metadata > 0);
}

TEST(what_is_freed_is_no_longer_live_at_a_later_peak)
{
    struct hew_stats_peak before = hew_stats_peak();
    for (unsigned i = 0; i < LARGE; i++) {
        layers_free(large[i]);
    }
    for (unsigned i = 0; i < SMALL; i++) {
        layers_free(small[i]);
    }
    void *more = layers_malloc(4 * before.resident);
    hew_stats_peak_look();
    struct hew_stats_peak peak = hew_stats_peak();
    CHECK_EQUAL(peak.live, hew_alloc_usable("malloc_usable_size", more));
    CHECK_EQUAL(peak.resident, sum_of_parts(&peak));
    CHECK(peak.thread_caches > 0);
    layers_free(more);
}

TEST(a_heap_that_grows_is_looked_at_by_the_thread_that_grew_it)
{
    struct hew_stats_peak before = hew_stats_peak();
    void *more = layers_malloc(8 * before.resident);
    CHECK(hew_stats_peak().live >= 8 * before.resident);
    layers_free(more);
}

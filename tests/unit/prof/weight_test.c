/* SPDX-License-Identifier: MIT */
#include "prof/weight.h"

#include "base/natural.h"
#include "base/random.h"
#include "test.h"

#define INTERVAL 524288

/* What jeprof and others make of a line of heap_v2. */
static double
scale_of(struct hew_prof_shown shown)
{
    return 1 / hew_natural_chance((double)shown.bytes / (double)shown.objects / INTERVAL);
}

static bool
within(double value, double wanted, double part)
{
    return value >= wanted * (1 - part) && value <= wanted * (1 + part);
}

TEST(with_an_interval_of_one_byte_each_object_stands_for_itself)
{
    struct hew_prof_totals one = hew_weight_of(48, 1);
    struct hew_prof_shown shown = hew_weight_estimate(&one, true);
    CHECK_EQUAL(shown.objects, 1);
    CHECK_EQUAL(shown.bytes, 48);
    shown = hew_weight_for_heap_v2(&one, 1, true);
    CHECK_EQUAL(shown.objects, 1);
    CHECK_EQUAL(shown.bytes, 48);
}

TEST(an_object_stands_for_about_the_interval_and_a_large_one_for_itself)
{
    CHECK(within((double)hew_weight_of(64, INTERVAL).weight_bytes, INTERVAL, 0.001));
    CHECK(within((double)hew_weight_of(64 << 20, INTERVAL).weight_bytes, 64 << 20, 1e-9));
    CHECK(within((double)hew_weight_of(INTERVAL, INTERVAL).weight_bytes, INTERVAL * 1.58198, 0.001));
}

TEST(a_stack_of_one_size_is_written_as_it_was_sampled)
{
    struct hew_prof_totals totals = {0}, one = hew_weight_of(4096, INTERVAL);
    for (unsigned i = 0; i < 37; i++) {
        hew_weight_add(&totals, &one);
    }
    struct hew_prof_shown shown = hew_weight_for_heap_v2(&totals, INTERVAL, true);
    CHECK_EQUAL(shown.objects, 37);
    CHECK(within((double)shown.bytes, 37 * 4096, 0.001));
}

TEST(a_reader_of_heap_v2_finds_the_estimates_whatever_the_sizes)
{
    struct hew_random random = {3};
    struct hew_prof_totals totals = {0};
    for (unsigned i = 0; i < 500; i++) {
        struct hew_prof_totals one = hew_weight_of((size_t)8 << (hew_random_next(&random) % 20), INTERVAL);
        hew_weight_add(&totals, &one);
        /* The file has whole objects: half a one is the error. */
        struct hew_prof_shown shown = hew_weight_for_heap_v2(&totals, INTERVAL, true);
        double error = 1.1 / (double)shown.objects;
        CHECK(within((double)shown.bytes * scale_of(shown), (double)totals.weight_bytes, error / 2));
        CHECK(within((double)shown.objects * scale_of(shown), (double)totals.weight_objects / 65536, error));
    }
}

TEST(without_unbias_the_sampled_counts_are_told)
{
    struct hew_prof_totals one = hew_weight_of(64, INTERVAL);
    struct hew_prof_shown shown = hew_weight_for_heap_v2(&one, INTERVAL, false);
    CHECK_EQUAL(shown.objects, 1);
    CHECK_EQUAL(shown.bytes, 64);
    shown = hew_weight_estimate(&one, false);
    CHECK_EQUAL(shown.bytes, 64);
}

TEST(what_was_added_can_be_taken_off_to_nothing)
{
    struct hew_prof_totals totals = {0}, one = hew_weight_of(100, INTERVAL), other = hew_weight_of(70000, INTERVAL);
    hew_weight_add(&totals, &one);
    hew_weight_add(&totals, &other);
    hew_weight_subtract(&totals, &one);
    hew_weight_subtract(&totals, &other);
    struct hew_prof_totals none = {0};
    CHECK(memcmp(&totals, &none, sizeof none) == 0);
}

TEST(the_weight_of_a_small_object_under_the_longest_interval_does_not_overflow)
{
    struct hew_prof_totals one = hew_weight_of(8, UINT64_C(1) << 63);
    CHECK(one.weight_objects >= UINT64_C(1) << 59);
    CHECK(one.weight_bytes >= UINT64_C(1) << 59);
}

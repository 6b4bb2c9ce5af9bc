/* SPDX-License-Identifier: MIT */
#include "base/natural.h"
#include "base/random.h"
#include "test.h"

/* The mean of draws lies within a part of 1 / chance, which 6 deviations of it do not leave. */
static bool
mean_is_right(size_t size, uint64_t interval)
{
    enum { DRAWS = 200000 };
    struct hew_random random = {42};
    double sum = 0, wanted = 1 / hew_natural_chance((double)size / (double)interval);
    for (unsigned i = 0; i < DRAWS; i++) {
        sum += (double)hew_random_objects(&random, size, interval);
    }
    double mean = sum / DRAWS, most = wanted * 6 / 447; /* 447: the root of DRAWS */
    return mean >= wanted - most && mean <= wanted + most;
}

TEST(the_mean_number_of_objects_to_the_next_sample_is_what_unbiasing_takes_it_for)
{
    CHECK(mean_is_right(8, 524288));
    CHECK(mean_is_right(4096, 524288));
    CHECK(mean_is_right(524288, 524288));
    CHECK(mean_is_right(4 << 20, 524288));
}

TEST(an_interval_of_one_byte_samples_every_object)
{
    struct hew_random random = {7};
    for (unsigned i = 0; i < 1000; i++) {
        CHECK_EQUAL(hew_random_objects(&random, 8, 1), 1);
    }
}

TEST(two_states_give_two_streams)
{
    struct hew_random one = {0}, other = {1};
    CHECK(hew_random_next(&one) != hew_random_next(&other));
    CHECK(hew_random_next(&one) != hew_random_next(&other));
}

TEST(an_object_of_no_bytes_counts_as_one)
{
    struct hew_random none = {5}, one = {5};
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQUAL(hew_random_objects(&none, 0, 1000), hew_random_objects(&one, 1, 1000));
    }
}

TEST(a_length_beyond_all_programs_is_cut)
{
    struct hew_random random = {3};
    CHECK_EQUAL(hew_random_objects(&random, 1, UINT64_MAX), UINT64_C(1) << 62);
}

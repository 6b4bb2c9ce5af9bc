/* SPDX-License-Identifier: MIT */
/* Unit tests of page/decay: the promises of its header, with a clock that the test turns. */
#include "page/decay.h"

#include "fakes/random.h"
#include "test.h"

#define MIB ((size_t)1 << 20)
#define START 1000000

/* A stock that keeps to its allowance: looks, and drops what is over.  Returns what is left. */
static size_t
look(struct hew_decay *decay, size_t *bytes, uint64_t now_ms)
{
    size_t allowance = hew_decay_allowance(decay, *bytes, now_ms);
    *bytes = *bytes < allowance ? *bytes : allowance;
    return *bytes;
}

TEST(minus_one_keeps_everything_for_ever)
{
    struct hew_decay decay;
    hew_decay_begin(&decay, -1, START);
    CHECK_EQUAL(hew_decay_allowance(&decay, 0, START), SIZE_MAX);
    CHECK_EQUAL(hew_decay_allowance(&decay, MIB, START + UINT64_C(1000000000000)), SIZE_MAX);
}

TEST(zero_milliseconds_keep_nothing)
{
    struct hew_decay decay;
    hew_decay_begin(&decay, 0, START);
    CHECK_EQUAL(hew_decay_allowance(&decay, MIB, START), 0);
    CHECK_EQUAL(hew_decay_allowance(&decay, MIB, START + 1), 0);
}

TEST(what_has_just_come_may_stay_whole)
{
    struct hew_decay decay;
    hew_decay_begin(&decay, 10000, START);
    CHECK(hew_decay_allowance(&decay, MIB, START) >= MIB);
    CHECK(hew_decay_allowance(&decay, 3 * MIB, START + 300) >= 3 * MIB);
}

/* One burst that comes `phase` ms after an epoch began, looked at every `every` ms: monotone, and gone in time. */
static void
check_burst(int64_t decay_ms, uint64_t phase, uint64_t every)
{
    struct hew_decay decay;
    size_t bytes = 100 * MIB, last = bytes;
    hew_decay_begin(&decay, decay_ms, START);
    uint64_t came = START + phase;
    for (uint64_t now = came; now < came + (uint64_t)decay_ms; now += every) {
        size_t allowance = hew_decay_allowance(&decay, bytes, now);
        CHECK(allowance <= last);
        last = allowance;
        bytes = bytes < allowance ? bytes : allowance;
    }
    CHECK_EQUAL(look(&decay, &bytes, came + (uint64_t)decay_ms), 0);
    CHECK_EQUAL(hew_decay_allowance(&decay, 0, came + 2 * (uint64_t)decay_ms), 0);
}

TEST(a_burst_shrinks_with_every_look_and_is_gone_after_decay_ms)
{
    static const int64_t times[] = {32, 33, 50, 100, 1000, 1023, 1024, 10000, 3600000};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        uint64_t step = (uint64_t)times[i] / HEW_DECAY_EPOCHS;
        check_burst(times[i], 0, step);
        check_burst(times[i], step / 2, step);
        check_burst(times[i], step - 1, step);
        check_burst(times[i], step / 3, step < 4 ? 1 : step / 4);
    }
}

TEST(times_shorter_than_the_number_of_epochs_hold_too)
{
    for (int64_t decay_ms = 1; decay_ms < HEW_DECAY_EPOCHS; decay_ms++) {
        check_burst(decay_ms, 0, 1);
    }
}

TEST(the_curve_is_smooth_slow_at_both_ends_and_half_way_down_in_the_middle)
{
    struct hew_decay decay;
    size_t bytes = 1000 * MIB, last = bytes, most = 0;
    hew_decay_begin(&decay, 32000, START);
    for (uint64_t epoch = 1; epoch <= HEW_DECAY_EPOCHS; epoch++) {
        look(&decay, &bytes, START + epoch * 1000);
        most = last - bytes > most ? last - bytes : most;
        last = bytes;
        if (epoch == 3) {
            CHECK(bytes > 950 * MIB);
        } else if (epoch == 16) {
            CHECK(bytes > 450 * MIB && bytes < 550 * MIB);
        } else if (epoch == 29) {
            CHECK(bytes < 50 * MIB);
        }
    }
    CHECK(most < 60 * MIB); /* no stall: 1/32 of the time never returns more than twice its share */
}

TEST(what_comes_later_is_kept_longer)
{
    struct hew_decay decay;
    size_t bytes = 100 * MIB;
    hew_decay_begin(&decay, 32000, START);
    for (uint64_t epoch = 1; epoch <= 16; epoch++) {
        look(&decay, &bytes, START + epoch * 1000);
    }
    bytes += 100 * MIB;
    CHECK(hew_decay_allowance(&decay, bytes, START + 16000) >= bytes);
    for (uint64_t epoch = 17; epoch <= 32; epoch++) {
        look(&decay, &bytes, START + epoch * 1000);
    }
    CHECK(bytes > 40 * MIB && bytes < 60 * MIB); /* the first burst is gone, the second half gone */
    for (uint64_t epoch = 33; epoch <= 48; epoch++) {
        look(&decay, &bytes, START + epoch * 1000);
    }
    CHECK_EQUAL(bytes, 0);
}

TEST(what_is_used_again_is_not_given_back_twice)
{
    struct hew_decay decay;
    size_t bytes = 100 * MIB;
    hew_decay_begin(&decay, 32000, START);
    look(&decay, &bytes, START + 1000);
    bytes = 0; /* all taken */
    CHECK(look(&decay, &bytes, START + 2000) == 0);
    bytes = 50 * MIB; /* half comes back: it may all stay for now */
    CHECK(look(&decay, &bytes, START + 2500) == 50 * MIB);
    for (uint64_t now = START + 3000; now <= START + 35000; now += 500) {
        look(&decay, &bytes, now);
        /* As new as it is, it is not yet over half of the old burst's rest and its own. */
        CHECK(now > START + 19000 || bytes == 50 * MIB);
    }
    CHECK_EQUAL(bytes, 0);
}

TEST(a_clock_that_goes_back_changes_nothing)
{
    struct hew_decay decay;
    size_t bytes = 100 * MIB;
    hew_decay_begin(&decay, 32000, START);
    for (uint64_t epoch = 1; epoch <= 10; epoch++) {
        look(&decay, &bytes, START + epoch * 1000);
    }
    size_t before = bytes;
    CHECK_EQUAL(hew_decay_allowance(&decay, bytes, START), before);
    CHECK_EQUAL(hew_decay_allowance(&decay, bytes, 0), before);
    CHECK(hew_decay_allowance(&decay, bytes + MIB, 0) >= before + MIB);
    CHECK_EQUAL(hew_decay_allowance(&decay, bytes, START + 10000), before);
}

TEST(a_jump_of_the_clock_ages_what_was_seen_before_and_keeps_what_is_new)
{
    struct hew_decay decay;
    size_t bytes = 100 * MIB;
    hew_decay_begin(&decay, 32000, START);
    look(&decay, &bytes, START + 1000);
    size_t seen = bytes;
    bytes += MIB;
    look(&decay, &bytes, UINT64_MAX / 2);
    CHECK(bytes <= MIB && bytes > MIB - MIB / 100);
    CHECK(seen > 90 * MIB);
    CHECK(look(&decay, &bytes, UINT64_MAX) == 0);
    CHECK_EQUAL(hew_decay_allowance(&decay, 0, UINT64_MAX), 0);
}

TEST(huge_sizes_and_times_do_not_overflow)
{
    static const size_t sizes[] = {(size_t)1 << 47, (size_t)1 << 58, SIZE_MAX / 2, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct hew_decay decay;
        size_t bytes = sizes[i];
        hew_decay_begin(&decay, 32000, START);
        CHECK(hew_decay_allowance(&decay, bytes, START) >= bytes);
        for (uint64_t epoch = 1; epoch <= HEW_DECAY_EPOCHS; epoch++) {
            size_t before = bytes;
            CHECK(look(&decay, &bytes, START + epoch * 1000) <= before);
            CHECK(epoch != 1 || bytes > sizes[i] / 100 * 99);
        }
        CHECK_EQUAL(bytes, 0);
    }
    struct hew_decay slow;
    hew_decay_begin(&slow, INT64_MAX, 0);
    CHECK(hew_decay_allowance(&slow, SIZE_MAX, 0) == SIZE_MAX);
    CHECK(hew_decay_allowance(&slow, MIB, UINT64_MAX / 4) > MIB / 4);
}

TEST(an_epoch_is_a_thirty_second_of_the_time_and_at_least_a_millisecond)
{
    struct hew_decay decay;
    hew_decay_begin(&decay, 10000, START);
    CHECK_EQUAL(hew_decay_step_ms(&decay), 312);
    hew_decay_begin(&decay, 10, START);
    CHECK_EQUAL(hew_decay_step_ms(&decay), 1);
    hew_decay_begin(&decay, 0, START);
    CHECK_EQUAL(hew_decay_step_ms(&decay), 1);
    hew_decay_begin(&decay, -1, START);
    CHECK_EQUAL(hew_decay_step_ms(&decay), 1);
}

/* Arrivals and departures of any size at any time: what arrived is allowed, and without arrivals nothing rises. */
TEST(random_traffic_never_raises_the_allowance_without_arrivals)
{
    struct hew_decay decay;
    uint64_t random = 1, now = START, last_arrival = START;
    size_t bytes = 0, last = 0;
    hew_decay_begin(&decay, 1000, START);
    for (unsigned step = 0; step < 20000; step++) {
        now += random_below(&random, random_below(&random, 20) == 0 ? 2000 : 40);
        uint64_t what = random_below(&random, 8);
        if (what == 0) {
            size_t more = random_below(&random, MIB);
            bytes += more;
            last += more;
            last_arrival = now;
        } else if (what == 1 && bytes > 0) {
            bytes -= random_below(&random, bytes + 1);
        }
        size_t allowance = hew_decay_allowance(&decay, bytes, now);
        size_t kept = bytes < allowance ? bytes : allowance;
        CHECK(kept <= last);
        CHECK(now - last_arrival < 1000 + 2000 || kept == 0);
        bytes = last = kept;
    }
}

TEST(what_was_put_off_is_not_new_when_it_is_looked_at_again)
{
    struct hew_decay decay;
    hew_decay_begin(&decay, 3200, 0);
    size_t keep = hew_decay_allowance(&decay, 1000000, 100);
    for (uint64_t now = 200; now < 3400; now += 100) {
        decay.put_off = 1000000 - keep; /* all that was due stays */
        size_t next = hew_decay_allowance(&decay, 1000000, now);
        CHECK(next <= keep);
        keep = next;
        decay.put_off = 1000000 - keep;
        CHECK_EQUAL(hew_decay_allowance(&decay, 1000000, now), keep);
    }
    CHECK_EQUAL(keep, 0);
}

TEST(something_is_due_each_epoch_or_at_once_when_nothing_may_be_kept)
{
    struct hew_decay decay;
    hew_decay_begin(&decay, 3200, 1000);
    CHECK(!hew_decay_is_due(&decay, 4096, 1099) && hew_decay_is_due(&decay, 4096, 1100));
    hew_decay_allowance(&decay, 4096, 1100);
    CHECK(!hew_decay_is_due(&decay, 4096, 1199) && hew_decay_is_due(&decay, 4096, 1200));
    hew_decay_begin(&decay, 0, 1000);
    CHECK(hew_decay_is_due(&decay, 4096, 1000) && !hew_decay_is_due(&decay, 0, 9000));
    hew_decay_begin(&decay, -1, 1000);
    CHECK(!hew_decay_is_due(&decay, 4096, 9000));
}

TEST(a_few_pages_follow_the_curve_like_many)
{
    struct hew_decay decay;
    size_t bytes = 4096;
    hew_decay_begin(&decay, 3200, START);
    for (uint64_t epoch = 1; epoch <= HEW_DECAY_EPOCHS / 2; epoch++) {
        look(&decay, &bytes, START + 100 * epoch);
    }
    CHECK(bytes > 1024 && bytes < 3072);
}

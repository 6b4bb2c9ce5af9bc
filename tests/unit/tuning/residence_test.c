/* SPDX-License-Identifier: MIT */
#include "tuning/residence.h"

#include "test.h"

#define USUAL UINT64_C(10000)
#define MIB (UINT64_C(1) << 20)

static struct hew_residence residence;
static uint64_t now;
static int steps;

/* A second in which the process had `cpu_ms` of a processor, returned and took so many bytes. */
static int
second(uint64_t cpu_ms, uint64_t returned, uint64_t taken)
{
    now += 1000;
    struct hew_residence_window window = {
        .now_ms = now,
        .passed_ms = 1000,
        .cpu_ns = cpu_ms * 1000000,
        .returned = returned,
        .taken = taken,
        .lost_per_page = 400,
        .may_grow = true,
    };
    int direction = hew_residence_step(&residence, &window, USUAL);
    steps += direction != 0;
    CHECK(residence.position >= 0 && residence.position <= HEW_RESIDENCE_HIGHEST);
    return direction;
}

static void
begin(void)
{
    residence = (struct hew_residence){0};
    now = 1000000;
    steps = 0;
}

/* Bursts of 200 MiB each `period` seconds, all of which goes back after as long as it stays. */
static void
bursts(unsigned period, unsigned count)
{
    for (unsigned number = 0; number < count * period; number++) {
        uint64_t stays = (USUAL << residence.position) / 1000, in_period = number % period;
        bool returned = stays < period;
        uint64_t taken = in_period == 0 && returned ? 200 * MIB : 0;
        second(in_period == 0 ? 500 : 1, in_period == stays && returned ? 200 * MIB : 0, taken);
    }
}

TEST(memory_that_is_wanted_again_soon_after_it_went_back_stays_longer_until_it_serves)
{
    begin();
    bursts(15, 20);
    CHECK_EQUAL(residence.position, 1);
    CHECK_EQUAL(steps, 1);
}

TEST(memory_that_is_wanted_much_later_does_not)
{
    begin();
    bursts(60, 20);
    CHECK_EQUAL(residence.position, 0);
}

TEST(what_costs_too_little_to_tell_is_left_alone)
{
    begin();
    for (unsigned i = 0; i < 200; i++) {
        CHECK_EQUAL(second(1000, 2 * MIB, 2 * MIB), 0);
    }
}

TEST(a_heap_that_only_grows_is_no_reason)
{
    begin();
    for (unsigned i = 0; i < 200; i++) {
        CHECK_EQUAL(second(1000, 0, 200 * MIB), 0);
    }
}

TEST(near_a_limit_of_memory_nothing_stays_longer)
{
    begin();
    for (unsigned i = 0; i < 100; i++) {
        now += 1000;
        struct hew_residence_window window = {now, 1000, 1000000, 200 * MIB, 200 * MIB, 400, false};
        CHECK_EQUAL(hew_residence_step(&residence, &window, USUAL), 0);
    }
}

TEST(once_nothing_of_it_is_wanted_again_the_time_goes_back)
{
    begin();
    bursts(15, 20);
    for (unsigned i = 0; i < 200; i++) {
        second(100, i % 20 == 0 ? 50 * MIB : 0, 0);
    }
    CHECK_EQUAL(residence.position, 0);
}

TEST(a_step_that_was_only_thought_is_back_at_once_and_thought_again_ever_more_seldom)
{
    begin();
    for (unsigned i = 0; i < 24 * 60 * 60; i++) { /* a day */
        if (second(100, 50 * MIB, 50 * MIB) != 0) {
            CHECK_EQUAL(residence.position, 1);
            hew_residence_forgo(&residence, USUAL);
            CHECK_EQUAL(residence.position, 0);
        }
    }
    CHECK(steps >= 8 && steps <= 20);
}

TEST(a_program_that_changes_its_mind_makes_it_turn_ever_more_seldom)
{
    begin();
    for (unsigned i = 0; i < 24 * 60 * 60; i++) { /* a day */
        bool again = i / 1000 % 2 == 0;           /* long enough for either to be believed */
        second(100, 50 * MIB, again ? 50 * MIB : 0);
    }
    CHECK(steps >= 10 && steps <= 40); /* 261 if turns did not count */
}

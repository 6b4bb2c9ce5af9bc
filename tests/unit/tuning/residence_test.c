/* SPDX-License-Identifier: MIT */
#include "tuning/residence.h"

#include "test.h"

#define USUAL UINT64_C(10000)
#define MIB (UINT64_C(1) << 20)
#define DAY (24u * 60 * 60)

static struct hew_residence residence;
static uint64_t now;
static unsigned tried, kept, undone, back;
static struct hew_residence at_kept; /* what the last step that was kept was judged by */

/* A second in which the process had `cpu_ms` of a processor, returned so many bytes, and wanted so many that had gone and that were at hand. */
static enum hew_residence_outcome
second_with(uint64_t cpu_ms, uint64_t returned, uint64_t gone, uint64_t at_hand)
{
    now += 1000;
    struct hew_residence_window window = {
        .now_ms = now,
        .passed_ms = 1000,
        .cpu_ns = cpu_ms * 1000000,
        .returned = returned,
        .taken = gone + at_hand,
        .fresh = gone,
        .lost_per_page = 400,
        .may_grow = true,
    };
    enum hew_residence_outcome outcome = hew_residence_step(&residence, &window, USUAL);
    tried += outcome == HEW_RESIDENCE_TRIED;
    kept += outcome == HEW_RESIDENCE_KEPT;
    at_kept = outcome == HEW_RESIDENCE_KEPT ? residence : at_kept;
    undone += outcome == HEW_RESIDENCE_UNDONE;
    back += outcome == HEW_RESIDENCE_BACK;
    CHECK(residence.position >= 0 && residence.position <= HEW_RESIDENCE_HIGHEST);
    return outcome;
}

static enum hew_residence_outcome
second(uint64_t cpu_ms, uint64_t returned, uint64_t gone)
{
    return second_with(cpu_ms, returned, gone, 0);
}

static void
begin(void)
{
    residence = (struct hew_residence){0};
    now = 1000000;
    tried = kept = undone = back = 0;
}

/* Bursts of 200 MiB each `period` seconds, all of which goes back after as long as it stays. */
static void
bursts(unsigned period, unsigned count)
{
    for (unsigned number = 0; number < count * period; number++) {
        uint64_t stays = hew_residence_time(&residence, USUAL) / 1000, in_period = number % period;
        bool returned = stays < period;
        uint64_t wanted = in_period == 0 ? 200 * MIB : 0;
        second_with(in_period == 0 ? 500 : 1, in_period == stays && returned ? 200 * MIB : 0, returned ? wanted : 0,
                    returned ? 0 : wanted);
    }
}

TEST(memory_that_is_wanted_again_soon_after_it_went_back_stays_longer_until_it_serves)
{
    begin();
    bursts(15, 20);
    CHECK(residence.position == 1 && tried == 1 && kept == 1 && undone == 0);
    CHECK(at_kept.again_ppm[0] >= 900000 && at_kept.again_ppm[1] == 0);
    CHECK(at_kept.soon_ppm[0] >= 500000 && at_kept.soon_ppm[1] == 0);
}

TEST(a_step_that_does_not_lessen_what_is_lost_is_undone_and_tried_ever_more_seldom)
{
    begin();
    for (unsigned i = 0; i < DAY; i++) {
        uint64_t part = residence.position == 0 ? 50 : 45; /* as much goes back and forth however long it stays */
        second_with(100, part * MIB, part * MIB, (50 - part) * MIB);
    }
    CHECK(tried >= 6 && tried <= 20 && undone >= tried - 1 && kept == 0);
    CHECK(residence.position == 0 || hew_residence_is_tried(&residence));
}

TEST(a_step_is_judged_only_once_the_process_has_wanted_as_much_again)
{
    begin();
    second(1000, 200 * MIB, 0);
    CHECK_EQUAL(second(1000, 0, 200 * MIB), HEW_RESIDENCE_TRIED);
    for (unsigned i = 0; i < 1000; i++) {
        CHECK_EQUAL(second(0, 0, 0), HEW_RESIDENCE_NOTHING);
    }
    CHECK(hew_residence_is_tried(&residence));
    CHECK_EQUAL(second_with(200, 0, 0, 100 * MIB), HEW_RESIDENCE_NOTHING);
    CHECK_EQUAL(second_with(200, 0, 0, 150 * MIB), HEW_RESIDENCE_KEPT);
}

TEST(memory_that_is_wanted_much_later_does_not)
{
    begin();
    bursts(60, 20);
    CHECK(residence.position == 0 && tried == 0);
}

TEST(what_costs_too_little_to_tell_is_left_alone)
{
    begin();
    for (unsigned i = 0; i < 200; i++) {
        CHECK_EQUAL(second(1000, 2 * MIB, 2 * MIB), HEW_RESIDENCE_NOTHING);
    }
}

TEST(a_heap_that_only_grows_is_no_reason)
{
    begin();
    for (unsigned i = 0; i < 200; i++) {
        CHECK_EQUAL(second(1000, 0, 200 * MIB), HEW_RESIDENCE_NOTHING);
    }
}

TEST(near_a_limit_of_memory_nothing_stays_longer)
{
    begin();
    for (unsigned i = 0; i < 100; i++) {
        now += 1000;
        struct hew_residence_window window = {now, 1000, 1000000, 200 * MIB, 200 * MIB, 200 * MIB, 400, false};
        CHECK_EQUAL(hew_residence_step(&residence, &window, USUAL), HEW_RESIDENCE_NOTHING);
    }
}

TEST(once_nothing_of_it_is_wanted_again_the_time_goes_back)
{
    begin();
    bursts(15, 20);
    for (unsigned i = 0; i < 200; i++) {
        second(100, i % 20 == 0 ? 50 * MIB : 0, 0);
    }
    CHECK(residence.position == 0 && back == 1);
}

TEST(a_step_that_was_only_thought_is_back_at_once_and_thought_again_ever_more_seldom)
{
    begin();
    for (unsigned i = 0; i < DAY; i++) {
        if (second(100, 50 * MIB, 50 * MIB) == HEW_RESIDENCE_TRIED) {
            CHECK_EQUAL(residence.position, 1);
            hew_residence_forgo(&residence, USUAL);
            CHECK(residence.position == 0 && !hew_residence_is_tried(&residence));
        }
    }
    CHECK(tried >= 8 && tried <= 20);
}

TEST(a_program_that_changes_its_mind_makes_it_turn_ever_more_seldom)
{
    begin();
    for (unsigned i = 0; i < DAY; i++) {
        bool again = i / 1000 % 2 == 0; /* long enough for either to be believed */
        bool serves = residence.position > 0;
        second_with(100, 50 * MIB, again && !serves ? 50 * MIB : 0, again && serves ? 50 * MIB : 0);
    }
    CHECK(kept + back >= 6 && kept + back <= 40); /* 261 if turns did not count */
}

/* Whoever knows the rule: what goes back comes again just while a step is judged, or just not. */
TEST(an_adversary_that_knows_the_states_does_not_make_it_oscillate)
{
    for (unsigned flatters = 0; flatters < 2; flatters++) {
        begin();
        for (unsigned i = 0; i < DAY; i++) {
            bool judged = hew_residence_is_tried(&residence), up = residence.position > 0 && !judged;
            bool again = judged ? flatters == 0 : !up;
            second_with(100, 50 * MIB, again ? 50 * MIB : 0, again ? 0 : 50 * MIB);
        }
        CHECK(tried <= 20 && back <= 12);
    }
}

TEST(parts_of_nothing_and_of_much_are_told_without_overflow)
{
    CHECK_EQUAL(hew_residence_ppm(0, 0), 0);
    CHECK_EQUAL(hew_residence_ppm(1, 0), 1000000);
    CHECK_EQUAL(hew_residence_ppm(5, 2), 1000000);
    CHECK_EQUAL(hew_residence_ppm(1, 4), 250000);
    CHECK_EQUAL(hew_residence_ppm(UINT64_C(1) << 61, UINT64_C(1) << 62), 500000);
}

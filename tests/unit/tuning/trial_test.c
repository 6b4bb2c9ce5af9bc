/* SPDX-License-Identifier: MIT */
#include "tuning/trial.h"

#include "test.h"

#define CPU UINT64_C(50000000)

static const struct hew_trial_rules rules = {.highest = 3, .worth_ppm = 5000, .gain_percent = 10};
static struct hew_trial trial;
static uint32_t lasted = 1; /* of each window */

/* One window in which `ppm` of the processor's time are lost and the heaps hold `held` bytes of a peak of 1000, of which 100 more may be
 * spent.  `live` of them are the program's, which never had more than 500. */
static struct hew_trial_window
seen_in(uint64_t ppm, uint64_t held, uint64_t live)
{
    return (struct hew_trial_window){
        .lost_ns = CPU / 1000000 * ppm,
        .cpu_ns = CPU,
        .held = held,
        .peak = 1000,
        .live = live,
        .live_peak = 500,
        .may_spend = 100,
        .budget = 100,
        .may_gain = true,
        .tells = true,
        .lasted = lasted,
    };
}

static enum hew_trial_outcome
step(struct hew_trial_window seen)
{
    enum hew_trial_outcome outcome = hew_trial_step(&trial, &rules, &seen);
    CHECK(hew_trial_valid(&trial, &rules));
    return outcome;
}

/* The program holds what it has held. */
static enum hew_trial_outcome
window(uint64_t ppm, uint64_t held)
{
    return step(seen_in(ppm, held, 500));
}

/* One that tells of memory alone. */
static enum hew_trial_outcome
mute_window(uint64_t held)
{
    struct hew_trial_window seen = seen_in(100000, held, 500);
    seen.tells = false;
    return step(seen);
}

/* Windows until something happens; the least is told by the caller. */
static enum hew_trial_outcome
until(uint64_t ppm, uint64_t held, unsigned most)
{
    enum hew_trial_outcome outcome = HEW_TRIAL_NOTHING;
    for (unsigned i = 0; i < most && outcome == HEW_TRIAL_NOTHING; i++) {
        outcome = window(ppm, held);
    }
    return outcome;
}

TEST(who_loses_little_is_left_alone)
{
    hew_trial_begin(&trial);
    CHECK_EQUAL(until(4999, 900, 10000), HEW_TRIAL_NOTHING);
    CHECK_EQUAL(trial.position, 0);
}

TEST(a_loss_that_passes_by_itself_is_no_reason)
{
    hew_trial_begin(&trial);
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQUAL(window(i % 8 == 0 ? 9000 : 0, 1000), HEW_TRIAL_NOTHING);
    }
    CHECK_EQUAL(trial.position, 0);
}

TEST(a_step_that_saves_enough_stays_and_the_next_one_follows_soon)
{
    hew_trial_begin(&trial);
    CHECK_EQUAL(until(100000, 1000, 10), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(trial.position, 1);
    CHECK_EQUAL(until(50000, 1100, 10), HEW_TRIAL_KEPT);
    CHECK(trial.position == 1 && trial.before_ppm == 100000 && trial.after_ppm == 50000);
    CHECK_EQUAL(hew_trial_added(&trial), 100);
    CHECK_EQUAL(until(50000, 1000, 10), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(trial.position, 2);
}

TEST(what_was_kept_goes_back_step_by_step_when_the_heaps_outgrow_the_budget)
{
    hew_trial_begin(&trial);
    for (int position = 1; position <= 2; position++) {
        CHECK_EQUAL(until(100000 >> position, 1000, 10), HEW_TRIAL_BEGUN);
        CHECK_EQUAL(until(50000 >> position, 1000, 10), HEW_TRIAL_KEPT);
    }
    CHECK(trial.position == 2 && trial.held_kept == 1000);
    CHECK_EQUAL(window(0, 1100), HEW_TRIAL_NOTHING); /* all of the budget */
    uint32_t rest = trial.rest[1];
    CHECK(window(0, 1101) == HEW_TRIAL_OUTGROWN && trial.position == 1 && trial.rest[1] == 2 * rest);
    CHECK(trial.held_before == 1000 && trial.held_after == 1101);
    CHECK(window(0, 1101) == HEW_TRIAL_OUTGROWN && trial.position == 0);
    CHECK_EQUAL(window(0, 5000), HEW_TRIAL_NOTHING);
}

/* A step up from 0 that stays. */
static void
keep_a_step(void)
{
    hew_trial_begin(&trial);
    CHECK_EQUAL(until(100000, 1000, 10), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(until(50000, 1000, 10), HEW_TRIAL_KEPT);
}

TEST(what_was_kept_goes_back_also_amid_a_trial_and_takes_that_along)
{
    keep_a_step();
    CHECK_EQUAL(until(50000, 1000, 10), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(trial.position, 2);
    CHECK(window(0, 1101) == HEW_TRIAL_OUTGROWN && trial.position == 0 && hew_trial_rests(&trial));
}

TEST(what_was_kept_goes_back_also_while_another_step_is_only_watched_for)
{
    keep_a_step();
    while (trial.state != HEW_TRIAL_WATCHES) {
        CHECK_EQUAL(window(50000, 1000), HEW_TRIAL_NOTHING);
    }
    CHECK(window(0, 1101) == HEW_TRIAL_OUTGROWN && trial.position == 0 && hew_trial_rests(&trial));
}

TEST(a_step_down_stays_when_what_was_kept_is_outgrown_amid_it)
{
    keep_a_step();
    CHECK_EQUAL(until(1000, 1000, 2 * HEW_TRIAL_REST_BACK), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(trial.position, 0);
    CHECK(window(900000, 1101) == HEW_TRIAL_OUTGROWN && trial.position == 0 && hew_trial_rests(&trial));
}

TEST(what_the_program_takes_amid_a_trial_does_not_refuse_the_step)
{
    hew_trial_begin(&trial);
    CHECK_EQUAL(until(100000, 1000, 10), HEW_TRIAL_BEGUN);
    enum hew_trial_outcome outcome = HEW_TRIAL_NOTHING;
    for (unsigned i = 1; i < 10 && outcome == HEW_TRIAL_NOTHING; i++) {
        outcome = step(seen_in(50000, 1030 + 1000 * i, 500 + 1000 * i));
    }
    CHECK(outcome == HEW_TRIAL_KEPT && hew_trial_added(&trial) == 30);
    CHECK_EQUAL(step(seen_in(0, 1130 + 99000, 500 + 99000)), HEW_TRIAL_NOTHING); /* nor is it charged for that later; */
    CHECK_EQUAL(step(seen_in(0, 1131 + 99000, 500 + 99000)), HEW_TRIAL_OUTGROWN); /* what is not the program's it is */
}

TEST(what_the_program_takes_amid_a_trial_does_not_hide_what_the_step_takes)
{
    hew_trial_begin(&trial);
    CHECK_EQUAL(until(100000, 1000, 10), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(step(seen_in(0, 1100 + 4000, 500 + 4000)), HEW_TRIAL_NOTHING);
    CHECK_EQUAL(step(seen_in(0, 1101 + 4000, 500 + 4000)), HEW_TRIAL_COSTLY);
}

TEST(what_a_step_took_of_memory_that_the_program_had_freed_is_charged_once_it_wants_that_back)
{
    hew_trial_begin(&trial);
    CHECK_EQUAL(until(100000, 700, 10), HEW_TRIAL_BEGUN);
    enum hew_trial_outcome outcome = HEW_TRIAL_NOTHING;
    for (unsigned i = 1; i < 10 && outcome == HEW_TRIAL_NOTHING; i++) {
        outcome = step(seen_in(50000, 900, 200)); /* below the peak: no cost */
    }
    CHECK(outcome == HEW_TRIAL_KEPT && hew_trial_added(&trial) == 0);
    CHECK_EQUAL(step(seen_in(0, 1100, 500)), HEW_TRIAL_NOTHING);
    CHECK(step(seen_in(0, 1200, 500)) == HEW_TRIAL_OUTGROWN && trial.position == 0);
}

TEST(a_window_that_does_not_tell_judges_nothing_but_memory)
{
    hew_trial_begin(&trial);
    for (unsigned i = 0; i < 100; i++) {
        CHECK(mute_window(1000) == HEW_TRIAL_NOTHING && hew_trial_rests(&trial));
    }
    CHECK_EQUAL(until(100000, 1000, 10), HEW_TRIAL_BEGUN);
    for (unsigned i = 0; i < 20; i++) {
        CHECK_EQUAL(mute_window(1100), HEW_TRIAL_NOTHING);
    }
    CHECK_EQUAL(until(50000, 1100, 10), HEW_TRIAL_KEPT);
    CHECK_EQUAL(until(50000, 1000, 10), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(mute_window(1101), HEW_TRIAL_COSTLY);
    CHECK(mute_window(1201) == HEW_TRIAL_OUTGROWN && trial.position == 0);
}

TEST(a_step_that_nobody_can_judge_does_not_stand_for_longer_than_promised)
{
    hew_trial_begin(&trial);
    CHECK_EQUAL(until(100000, 1000, 10), HEW_TRIAL_BEGUN);
    unsigned stood = 1;
    while (stood < 2 * HEW_TRIAL_LONGEST && mute_window(1000) == HEW_TRIAL_NOTHING) {
        stood++;
    }
    CHECK(stood <= HEW_TRIAL_LONGEST && trial.position == 0 && trial.rest[1] == 2 * HEW_TRIAL_REST_LEAST);
    CHECK_EQUAL(trial.after_ppm, trial.before_ppm);
}

TEST(what_was_lost_long_before_is_no_reason_for_a_step_now)
{
    hew_trial_begin(&trial);
    while (hew_trial_rests(&trial)) {
        CHECK_EQUAL(window(100000, 1000), HEW_TRIAL_NOTHING);
    }
    for (unsigned i = 0; i <= HEW_TRIAL_LONGEST; i++) {
        CHECK_EQUAL(mute_window(1000), HEW_TRIAL_NOTHING);
    }
    CHECK(hew_trial_rests(&trial) && trial.position == 0);
}

TEST(a_loss_of_more_than_all_is_told_as_all_and_what_was_saved_of_it_in_proportion)
{
    hew_trial_begin(&trial);
    CHECK_EQUAL(until(3000000, 1000, 10), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(until(1500000, 1000, 10), HEW_TRIAL_KEPT);
    CHECK(trial.before_ppm == 1000000 && trial.after_ppm == 500000);
    CHECK_EQUAL(until(1500000, 1000, 10), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(until(2000000, 1000, 10), HEW_TRIAL_UNDONE);
    CHECK(trial.before_ppm == 750000 && trial.after_ppm == 1000000);
}

TEST(long_windows_count_for_as_many_as_they_lasted)
{
    hew_trial_begin(&trial);
    lasted = 60;
    CHECK(window(100000, 1000) == HEW_TRIAL_NOTHING && window(100000, 1000) == HEW_TRIAL_BEGUN);
    CHECK(window(50000, 1000) == HEW_TRIAL_NOTHING && window(50000, 1000) == HEW_TRIAL_KEPT);
    lasted = UINT32_MAX;
    CHECK(window(50000, 1000) == HEW_TRIAL_NOTHING && window(50000, 1000) == HEW_TRIAL_BEGUN);
    lasted = 1;
}

TEST(a_step_that_saves_less_than_its_part_is_undone_and_the_rest_doubles)
{
    hew_trial_begin(&trial);
    CHECK_EQUAL(until(100000, 1000, 10), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(until(91000, 1000, 10), HEW_TRIAL_UNDONE);
    CHECK(trial.position == 0 && trial.rest[1] == 2 * HEW_TRIAL_REST_LEAST);
    CHECK_EQUAL(until(100000, 1000, 100), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(until(100000, 1000, 10), HEW_TRIAL_UNDONE);
    CHECK_EQUAL(trial.rest[1], 4 * HEW_TRIAL_REST_LEAST);
}

TEST(a_step_that_saves_less_than_is_worth_it_is_undone_however_large_a_part_that_is)
{
    hew_trial_begin(&trial);
    CHECK_EQUAL(until(5000, 1000, 10), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(until(100, 1000, 10), HEW_TRIAL_UNDONE);
}

TEST(a_step_that_takes_more_memory_than_it_may_is_undone_at_once)
{
    hew_trial_begin(&trial);
    CHECK_EQUAL(until(100000, 1000, 10), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(window(0, 1101), HEW_TRIAL_COSTLY);
    CHECK_EQUAL(trial.position, 0);
}

TEST(once_nothing_may_be_spent_no_step_up_is_tried)
{
    hew_trial_begin(&trial);
    struct hew_trial_window seen = {
        .lost_ns = CPU, .cpu_ns = CPU, .held = 1000, .peak = 1000, .may_gain = true, .tells = true, .lasted = 1};
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQUAL(hew_trial_step(&trial, &rules, &seen), HEW_TRIAL_NOTHING);
    }
    CHECK(hew_trial_rests(&trial));
}

TEST(what_the_process_had_already_costs_nothing)
{
    hew_trial_begin(&trial);
    CHECK_EQUAL(until(100000, 200, 10), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(until(1000, 1000, 10), HEW_TRIAL_KEPT);
    CHECK_EQUAL(hew_trial_added(&trial), 0);
}

TEST(a_position_goes_back_when_that_loses_next_to_nothing_and_not_otherwise)
{
    hew_trial_begin(&trial);
    CHECK_EQUAL(until(100000, 1000, 10), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(until(1000, 1000, 10), HEW_TRIAL_KEPT);
    CHECK_EQUAL(until(1000, 1000, 2 * HEW_TRIAL_REST_BACK), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(trial.position, 0);
    CHECK_EQUAL(until(100000, 1000, 10), HEW_TRIAL_UNDONE);
    CHECK(trial.position == 1 && trial.turns == 0);
    CHECK_EQUAL(until(1000, 1000, 4 * HEW_TRIAL_REST_BACK), HEW_TRIAL_BEGUN);
    CHECK_EQUAL(until(1000, 1000, 10), HEW_TRIAL_KEPT);
    CHECK(trial.position == 0 && trial.turns == 1);
}

TEST(a_step_that_was_only_thought_is_back_at_once_and_thought_again_ever_more_seldom)
{
    hew_trial_begin(&trial);
    unsigned thought = 0;
    for (unsigned i = 0; i < 3 * HEW_TRIAL_REST_MOST; i++) {
        if (window(100000, 1000) == HEW_TRIAL_BEGUN) {
            hew_trial_forgo(&trial);
            CHECK_EQUAL(trial.position, 0);
            thought++;
        }
    }
    CHECK(thought >= 10 && thought <= 16);
}

TEST(millionths_are_right_for_numbers_of_any_size)
{
    CHECK(hew_trial_ppm(0, 0) == 0 && hew_trial_ppm(1, 2) == 500000 && hew_trial_ppm(3, 1) == 3000000);
    CHECK(hew_trial_ppm(UINT64_MAX / 2, UINT64_MAX) == 500000 && hew_trial_ppm(UINT64_MAX, 1) == 100000000);
    CHECK_EQUAL(hew_trial_ppm(5, 0), 100000000);
}

/* A program that knows the controller: what it loses is told by its schedule, from the window's number and the lever's position. */
typedef uint64_t (*schedule)(unsigned number, int position);

/* How often what stayed has changed direction, and how many windows were spent away from where the lever rests longest. */
static unsigned
turns_under(schedule lost, unsigned windows)
{
    hew_trial_begin(&trial);
    unsigned turns = 0, kept = 0;
    int last = 0;
    for (unsigned number = 0; number < windows; number++) {
        if (window(lost(number, trial.position), 1000) == HEW_TRIAL_KEPT) {
            kept++;
            turns += last == -trial.direction;
            last = trial.direction;
        }
    }
    CHECK(turns == trial.turns && kept <= 3 * (turns + 1));
    return turns;
}

/* Saves whenever a step is up, and costs nothing whenever one is down: every step stays. */
static uint64_t
flatters_every_step(unsigned number, int position)
{
    return trial.state == HEW_TRIAL_SETTLES || trial.state == HEW_TRIAL_JUDGES ? 1000 : 100000;
}

/* Periods against the trial's own, from one window to hundreds. */
static unsigned period;

static uint64_t
alternates(unsigned number, int position)
{
    return number / period % 2 == 0 ? 200000 : 6000;
}

/* Room helps in one half of the period, and hurts in the other. */
static uint64_t
helps_and_hurts(unsigned number, int position)
{
    return number / period % 2 == 0 ? 200000u >> position : UINT64_C(20000) << position;
}

#define DAY_WINDOWS (20 * 60 * 60 * 24)                                     /* of 50 ms */
#define MOST_TURNS (11 + (unsigned)(DAY_WINDOWS / HEW_TRIAL_REST_MOST) + 1) /* what trial.h promises */

TEST(nothing_oscillates_however_a_program_flatters_it)
{
    unsigned turns = turns_under(flatters_every_step, DAY_WINDOWS);
    CHECK(turns >= 5 && turns <= MOST_TURNS);
}

TEST(nothing_oscillates_with_any_period)
{
    for (period = 1; period <= 700; period = period * 3 / 2 + 1) {
        CHECK(turns_under(alternates, DAY_WINDOWS) <= MOST_TURNS);
        CHECK(turns_under(helps_and_hurts, DAY_WINDOWS) <= MOST_TURNS);
    }
}

TEST(a_program_that_says_random_things_cannot_make_it_leave_its_bounds)
{
    uint64_t random = 7;
    hew_trial_begin(&trial);
    for (unsigned number = 0; number < 300000; number++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        window(random >> 44, random >> 40 & 2047);
    }
    CHECK(trial.turns <= 11 + 300000 / HEW_TRIAL_REST_MOST + 1);
}

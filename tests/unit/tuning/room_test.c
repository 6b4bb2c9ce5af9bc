/* SPDX-License-Identifier: MIT */
/* room: made-up windows of a program that takes so much time for an operation with room in depots, and so much without it. */
#include "tuning/room.h"

#include "test.h"

#define OPERATIONS 1000000u

struct program {
    uint64_t with_ps, without_ps;
    unsigned noise_percent; /* of one window in each trial, */
    unsigned noisy;         /* of that number */
    unsigned asked_percent; /* of the room: not there before it is granted */
};

static enum hew_room_outcome
pass(struct hew_room *room, const struct program *program)
{
    uint64_t ps = hew_room_denies(room) ? program->without_ps : program->with_ps;
    ps += room->windows == program->noisy ? ps * program->noise_percent / 100 : 0;
    return hew_room_step(room, &(struct hew_room_window){
                                   .passed_ms = hew_room_is_tried(room) ? HEW_ROOM_WINDOW_MS : 1000,
                                   .cpu_ns = ps * OPERATIONS / 1000,
                                   .operations = OPERATIONS,
                                   .more = (size_t)1 << 20,
                                   .asked = ((size_t)1 << 20) * program->asked_percent / 100,
                               });
}

/* Windows until there is an outcome of that kind, and a thousand at most. */
static unsigned
pass_until(struct hew_room *room, const struct program *program, enum hew_room_outcome outcome)
{
    unsigned windows = 1;
    while (windows < 1000 && pass(room, program) != outcome) {
        windows++;
    }
    return windows;
}

TEST(room_that_makes_operations_slower_is_denied_and_comes_back_for_trials_only)
{
    struct hew_room room;
    struct program slower = {110000, 100000, 0, 0, 0};
    hew_room_begin(&room);
    CHECK(pass_until(&room, &slower, HEW_ROOM_UNDONE) < 15);
    CHECK(hew_room_denies(&room));
    CHECK_EQUAL(hew_room_middle(room.with), 110000);
    CHECK_EQUAL(hew_room_middle(room.without), 100000);
    unsigned with = 0, windows = 10000;
    for (unsigned window = 0; window < windows; window++) {
        with += !hew_room_denies(&room);
        CHECK(pass(&room, &slower) != HEW_ROOM_KEPT);
    }
    CHECK(with < windows / 25);
}

TEST(room_that_pays_or_makes_no_difference_stays)
{
    struct program faster = {60000, 100000, 0, 0, 0}, same = {100000, 100000, 0, 0, 0},
                   hardly = {101000, 100000, 0, 0, 0};
    const struct program *programs[] = {&faster, &same, &hardly};
    for (unsigned each = 0; each < 3; each++) {
        struct hew_room room;
        hew_room_begin(&room);
        CHECK(pass_until(&room, programs[each], HEW_ROOM_KEPT) < 15);
        unsigned without = 0;
        for (unsigned window = 0; window < 10000; window++) {
            without += hew_room_denies(&room);
            CHECK(pass(&room, programs[each]) != HEW_ROOM_UNDONE);
        }
        CHECK(without < 10000 / 25);
    }
}

TEST(room_that_is_asked_for_comes_where_it_pays_and_else_nothing_changes)
{
    struct program faster = {60000, 100000, 0, 0, 100}, same = {100000, 100000, 0, 0, 100},
                   hardly = {99000, 100000, 0, 0, 100}, slower = {140000, 100000, 0, 0, 100};
    const struct program *others[] = {&same, &hardly, &slower};
    struct hew_room room;
    for (unsigned each = 0; each < 3; each++) {
        hew_room_begin(&room);
        CHECK(!hew_room_grants(&room) && !hew_room_denies(&room));
        CHECK(pass_until(&room, others[each], HEW_ROOM_UNDONE) < 15);
        CHECK(!hew_room_grants(&room) && !hew_room_denies(&room));
    }
    hew_room_begin(&room);
    CHECK(pass_until(&room, &faster, HEW_ROOM_KEPT) < 15);
    CHECK(hew_room_grants(&room) && !hew_room_denies(&room));
    CHECK(pass_until(&room, &same, HEW_ROOM_KEPT) < 30); /* it is there now, and stays unless it is slower */
    CHECK(hew_room_grants(&room));
    CHECK(pass_until(&room, &slower, HEW_ROOM_UNDONE) < 60);
    CHECK(!hew_room_grants(&room) && hew_room_denies(&room));
    CHECK(pass_until(&room, &same, HEW_ROOM_UNDONE) < 100);
    CHECK(!hew_room_grants(&room) && !hew_room_denies(&room));
    CHECK(pass_until(&room, &faster, HEW_ROOM_KEPT) < 200);
    CHECK(hew_room_grants(&room));
}

TEST(where_some_of_the_room_is_asked_for_all_of_it_goes_that_is_slower_and_all_comes_that_pays)
{
    static const unsigned parts[] = {10, 90};
    for (unsigned each = 0; each < 2; each++) {
        struct program faster = {60000, 100000, 0, 0, parts[each]}, same = {100000, 100000, 0, 0, parts[each]},
                       slower = {140000, 100000, 0, 0, parts[each]};
        struct hew_room room;
        hew_room_begin(&room);
        CHECK(pass_until(&room, &same, HEW_ROOM_KEPT) < 15);
        CHECK(!hew_room_grants(&room) && !hew_room_denies(&room));
        CHECK(pass_until(&room, &slower, HEW_ROOM_UNDONE) < 30);
        CHECK(!hew_room_grants(&room) && hew_room_denies(&room));
        CHECK(pass_until(&room, &faster, HEW_ROOM_KEPT) < 60);
        CHECK(hew_room_grants(&room) && !hew_room_denies(&room));
    }
}

TEST(a_window_that_is_interrupted_does_not_decide)
{
    for (unsigned noisy = 0; noisy <= 2 * HEW_ROOM_PAIRS; noisy++) {
        struct program slower = {115000, 100000, 40, noisy, 0}, faster = {85000, 100000, 40, noisy, 0};
        struct hew_room room;
        hew_room_begin(&room);
        CHECK(pass_until(&room, &faster, HEW_ROOM_KEPT) < 15);
        hew_room_begin(&room);
        CHECK(pass_until(&room, &slower, HEW_ROOM_UNDONE) < 15);
    }
}

TEST(two_pairs_of_four_do_not_decide)
{
    struct hew_room room;
    struct program program = {0, 100000, 0, 0, 0};
    hew_room_begin(&room);
    enum hew_room_outcome outcome = HEW_ROOM_NOTHING;
    while (outcome == HEW_ROOM_NOTHING || outcome == HEW_ROOM_TRIED) {
        program.with_ps = room.windows <= HEW_ROOM_PAIRS ? 130000 : 95000;
        outcome = pass(&room, &program);
    }
    CHECK_EQUAL(outcome, HEW_ROOM_KEPT);
    CHECK(hew_room_middle(room.with) > 110000);
}

TEST(what_a_program_does_slower_and_slower_or_faster_and_faster_counts_for_neither)
{
    static const int64_t steps_ps[] = {12000, -6000};
    for (unsigned each = 0; each < 2; each++) {
        struct hew_room room;
        struct program drifts = {100000, 100000, 0, 0, 0};
        hew_room_begin(&room);
        CHECK(pass_until(&room, &drifts, HEW_ROOM_TRIED) < 15);
        enum hew_room_outcome outcome = HEW_ROOM_NOTHING;
        while (outcome == HEW_ROOM_NOTHING) {
            drifts.with_ps += (uint64_t)steps_ps[each];
            drifts.without_ps = drifts.with_ps;
            outcome = pass(&room, &drifts);
        }
        CHECK_EQUAL(outcome, HEW_ROOM_KEPT);
    }
}

TEST(a_program_that_changes_is_judged_anew_and_nothing_oscillates)
{
    struct hew_room room;
    struct program slower = {120000, 100000, 0, 0, 0}, faster = {80000, 100000, 0, 0, 0};
    hew_room_begin(&room);
    CHECK(pass_until(&room, &slower, HEW_ROOM_UNDONE) < 15);
    CHECK(pass_until(&room, &faster, HEW_ROOM_KEPT) < 30);
    CHECK(!hew_room_denies(&room));
    unsigned verdicts = 0;
    for (unsigned second = 0; second < 10000; second++) { /* it knows the rule, and is each time the other way */
        enum hew_room_outcome outcome = pass(&room, room.denied ? &faster : &slower);
        verdicts += outcome == HEW_ROOM_KEPT || outcome == HEW_ROOM_UNDONE;
    }
    CHECK(verdicts < 45);
}

/* A look at a program that has made so many operations since the last one, in depots with so many bytes more. */
static enum hew_room_outcome
look(struct hew_room *room, uint64_t operations, uint64_t more)
{
    return hew_room_step(
        room, &(struct hew_room_window){.passed_ms = 1000, .cpu_ns = 1000000, .operations = operations, .more = more});
}

TEST(without_room_there_is_no_trial_and_nothing_denied)
{
    struct hew_room room;
    struct program slower = {110000, 100000, 0, 0, 0};
    hew_room_begin(&room);
    for (unsigned window = 0; window < 100; window++) {
        CHECK_EQUAL(look(&room, OPERATIONS, 0), HEW_ROOM_NOTHING);
    }
    CHECK_EQUAL(look(&room, OPERATIONS, 4096), HEW_ROOM_NOTHING); /* time to fill */
    CHECK(pass_until(&room, &slower, HEW_ROOM_UNDONE) < 15);
    CHECK_EQUAL(look(&room, OPERATIONS, 0), HEW_ROOM_NOTHING);
    CHECK(!hew_room_denies(&room));
}

TEST(what_cannot_be_judged_is_not_and_the_room_comes_back)
{
    struct program slower = {110000, 100000, 0, 0, 0};
    struct hew_room_window few = {.passed_ms = 250, .cpu_ns = 1000000, .operations = 10, .more = 4096},
                           gone = {.passed_ms = 250, .cpu_ns = 1000000, .operations = OPERATIONS},
                           no_clock = {.passed_ms = 250, .operations = OPERATIONS, .more = 4096};
    const struct hew_room_window *windows[] = {&few, &gone, &no_clock};
    for (unsigned each = 0; each < 3; each++) {
        struct hew_room room;
        hew_room_begin(&room);
        CHECK(pass_until(&room, &slower, HEW_ROOM_UNDONE) < 15);
        CHECK(pass_until(&room, &slower, HEW_ROOM_TRIED) < 15);
        pass(&room, &slower);
        CHECK_EQUAL(hew_room_step(&room, windows[each]), HEW_ROOM_LEFT);
        CHECK(!hew_room_denies(&room) && !hew_room_is_tried(&room));
    }
}

TEST(who_is_left_in_each_trial_is_tried_ever_more_seldom)
{
    struct hew_room room;
    hew_room_begin(&room);
    unsigned trials = 0;
    for (unsigned second = 0; second < 10000; second++) {
        trials += look(&room, 10, 4096) == HEW_ROOM_TRIED;
    }
    CHECK(trials >= 10000 / 300 && trials < 10000 / 200);
}

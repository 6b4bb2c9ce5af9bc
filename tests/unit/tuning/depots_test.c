/* SPDX-License-Identifier: MIT */
/* depots: a thread whose operations take so much time while depots have more room than usual, and so much while they have not. */
#include "tuning/controller.h"

#include "base/steps.h"
#include "cache/ghost.h"
#include "cache/one_thread.h"
#include "page/bound.h"
#include "stats/tuning.h"
#include "tuning/busy.h"

#define LOOKS_MOST 40
#define ROUNDS 30 /* of OBJECTS_MAX objects: more than are asked for in a window */

static uint64_t made_up_ms = 1000;
static struct hew_step steps[HEW_STEP_LEVERS * HEW_STEPS_KEPT];

static bool
is_allowed(void)
{
    return hew_ghost_permitted() == HEW_GHOST_ALLOWED || hew_ghost_permitted() == HEW_GHOST_GRANTED;
}

static bool
has_room(void)
{
    return is_allowed() && hew_depot_counts().ghost_room != 0;
}

static bool
has_come(bool asked)
{
    struct hew_depot_room room = hew_depot_room();
    return room.more != 0 && (room.asked != 0) == asked;
}

/* A depot has more room than usual, or asks for it, and nobody has looked yet. */
static struct hew_cache *
begin_with(bool asked)
{
    struct hew_cache *cache = new_cache();
    hew_tuning_after_fork();
    hew_options.tuning = HEW_TUNING_ON;
    hew_options.dirty_decay_ms = 0; /* nobody's to move */
    hew_budget_set_depots(100, true);
    atomic_store(&hew_page_mapped, (size_t)64 << 20);
    for (unsigned round = 0; round < ROUNDS && !has_come(asked); round++) {
        for_others = asked;
        come_and_go(10, WAVE);
        for_others = false;
    }
    CHECK(has_come(asked) && has_room() == !asked);
    return cache;
}

static struct hew_cache *
begin(void)
{
    return begin_with(false);
}

/* A window's work; the look at its end. */
static void
pass_window(struct hew_cache *cache, uint64_t with_ms, uint64_t without_ms)
{
    work(cache, CODE, ROUNDS, OBJECTS_MAX);
    be_busy_ms(has_room() ? with_ms : without_ms);
    uint64_t wait_ms = hew_tuning_round(made_up_ms);
    CHECK(wait_ms != 0 && wait_ms <= 1000);
    made_up_ms += wait_ms;
}

/* Windows until so many verdicts were told; returns how long that took. */
static uint64_t
pass_until_judged(struct hew_cache *cache, unsigned verdicts, uint64_t with_ms, uint64_t without_ms)
{
    uint64_t begun_ms = made_up_ms;
    for (unsigned look = 0; look < LOOKS_MOST && hew_stats_tuned().depots_judged < verdicts; look++) {
        pass_window(cache, with_ms, without_ms);
    }
    CHECK_EQUAL(hew_stats_tuned().depots_judged, verdicts);
    return made_up_ms - begun_ms;
}

TEST(room_that_is_asked_for_comes_with_a_verdict_and_not_before) /* the first: no depot has room yet */
{
    struct hew_cache *cache = begin_with(true);
    CHECK(pass_until_judged(cache, 1, 40, 10) <= 5000 + 1000);
    CHECK(!has_room() && hew_stats_tuned().depots_undone == 1);
    CHECK_EQUAL(hew_ghost_permitted(), HEW_GHOST_ALLOWED);
    CHECK(pass_until_judged(cache, 2, 10, 40) > 4000);
    CHECK(has_room() && hew_stats_tuned().depots_undone == 1);
    CHECK_EQUAL(hew_ghost_permitted(), HEW_GHOST_GRANTED);
    end_cache();
}

TEST(room_with_which_operations_take_longer_goes_within_five_seconds_and_is_tried_again_later)
{
    struct hew_cache *cache = begin();
    CHECK(pass_until_judged(cache, 1, 40, 10) <= 5000 + 1000); /* the last wait is that after the verdict */
    CHECK_EQUAL(hew_stats_tuned().depots_undone, 1);
    CHECK(!has_room() && hew_depot_counts().ghost_room == 0 && hew_depot_room().more != 0);
    CHECK_EQUAL(hew_steps_read(steps), 1);
    CHECK(steps[0].lever == HEW_STEP_DEPOT_ROOM && steps[0].outcome == HEW_STEP_UNDONE);
    CHECK(steps[0].before == 100 && steps[0].after > 100 && steps[0].after <= 800);
    CHECK(steps[0].effect_after > steps[0].effect_before && steps[0].effect_before > 0);
    CHECK(pass_until_judged(cache, 2, 10, 40) > 4000);
    CHECK_EQUAL(hew_stats_tuned().depots_undone, 1);
    CHECK(has_room() && hew_depot_counts().ghost_room != 0);
    CHECK(hew_steps_read(steps) == 2 && steps[1].outcome == HEW_STEP_KEPT);
    end_cache();
}

/* The first window of a trial without the room. */
static void
pass_until_without(struct hew_cache *cache)
{
    for (unsigned look = 0; look < LOOKS_MOST && has_room(); look++) {
        pass_window(cache, 1, 1);
    }
    CHECK_EQUAL(hew_ghost_permitted(), HEW_GHOST_SUSPENDED);
    CHECK(hew_depot_counts().ghost_room != 0); /* which is for a moment */
}

static void
ended_without_a_verdict(void)
{
    CHECK(is_allowed());
    CHECK(hew_steps_read(steps) == 0 && hew_stats_tuned().depots_judged == 0);
}

TEST(where_depots_may_not_grow_nobody_looks)
{
    begin();
    hew_budget_set_depots(100, false);
    for (unsigned look = 0; look < LOOKS_MOST; look++) {
        CHECK_EQUAL(hew_tuning_round(made_up_ms += 1000), 0);
    }
    ended_without_a_verdict();
    end_cache();
}

TEST(a_trial_ends_without_a_verdict_when_the_thread_sleeps_ends_or_comes_late)
{
    struct hew_cache *cache = begin();
    pass_until_without(cache);
    hew_tuning_pause();
    ended_without_a_verdict();
    pass_until_without(cache);
    hew_tuning_stop();
    ended_without_a_verdict();
    pass_until_without(cache);
    made_up_ms += 10000; /* a stopped process, say */
    pass_window(cache, 1, 1);
    ended_without_a_verdict();
    end_cache();
}

TEST(a_verdict_goes_with_the_thread_and_is_not_a_forks_childs)
{
    struct hew_cache *cache = begin();
    pass_until_judged(cache, 1, 40, 10);
    CHECK(!has_room());
    hew_tuning_pause();
    CHECK(!has_room()); /* it comes again */
    hew_tuning_stop();
    CHECK(has_room());
    pass_until_judged(cache, 2, 40, 10);
    CHECK(!has_room());
    hew_tuning_after_fork();
    ended_without_a_verdict();
    end_cache();
}

TEST(room_that_has_gone_meanwhile_is_not_judged_and_may_come_again)
{
    struct hew_cache *cache = begin();
    pass_until_judged(cache, 1, 40, 10);
    CHECK(!has_room());
    atomic_store(&hew_page_bound.known, true);
    atomic_store(&hew_page_bound.parts, 1);
    CHECK_EQUAL(hew_depot_room().more, 0);
    pass_window(cache, 1, 1);
    CHECK(is_allowed());
    atomic_store(&hew_page_bound.known, false);
    atomic_store(&hew_page_bound.parts, HEW_PAGE_BOUND_PARTS);
    end_cache();
}

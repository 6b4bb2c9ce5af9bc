/* SPDX-License-Identifier: MIT */
/* controller: its looks come at made-up times, on page heaps whose counts the test moves. */
#include "tuning/controller.h"

#include "base/steps.h"
#include "cache/budget.h"
#include "layers_alloc.h"
#include "os/clock.h"
#include "slab/arena_life.h"
#include "stats/tuning.h"
#include "test.h"
#include "tuning/busy.h"

#define LOOK_MS 1000 /* made-up ones between two looks */
#define LOOKS_MOST 200
#define MUCH (UINT64_C(200) << 20)
#define REUSED (UINT64_C(20) << 20) /* bytes that are wanted and at hand, between two looks */

static uint64_t made_up_ms = 1000;
static struct hew_step steps[HEW_STEP_LEVERS * HEW_STEPS_KEPT];

static void
boot_once(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = 2;
    }
}

/* The controller begins anew, as in a fork's child. */
static void
begin_anew(enum hew_tuning mode)
{
    boot_once();
    hew_tuning_after_fork();
    hew_options.tuning = mode;
    memset(hew_options.chosen, 0, sizeof hew_options.chosen);
    hew_arena_defaults.dirty_chosen = false;
}

static const struct hew_option *
option_of(const char *name)
{
    const struct hew_option *option = hew_option_table;
    while (strcmp(option->name, name) != 0) {
        option++;
    }
    return option;
}

/* A look, after so many bytes went back to the system, or were taken of it. */
static void
look_after(uint64_t returned, uint64_t taken)
{
    struct hew_page_heap *heap = &hew_arena_get(0)->pages;
    uint64_t windows = hew_stats_tuned().windows;
    hew_mutex_lock(&heap->lock);
    heap->counts.gone += returned;
    heap->counts.taken += taken + REUSED;
    heap->counts.taken_fresh += taken;
    hew_mutex_unlock(&heap->lock);
    while (hew_stats_tuned().windows == windows) {
        hew_tuning_round(made_up_ms += LOOK_MS);
    }
}

/* Some count of the first arena's is less from now on. */
static void
let_a_count_fall(void)
{
    struct hew_page_heap *heap = &hew_arena_get(0)->pages;
    hew_mutex_lock(&heap->lock);
    CHECK(heap->counts.gone >= MUCH);
    heap->counts.gone -= MUCH;
    hew_mutex_unlock(&heap->lock);
}

/* The controller begins anew, no arena's time is the program's, and much has just gone back. */
static void
begin_with_much_returned(enum hew_tuning mode)
{
    begin_anew(mode);
    CHECK_EQUAL(hew_arena_decay_ms(NULL, HEW_DECAY_DIRTY), 10000);
    hew_tuning_round(made_up_ms += LOOK_MS);
    look_after(MUCH, 0);
}

static uint64_t
decay_of_arena(unsigned index)
{
    return (uint64_t)hew_arena_decay_ms(hew_arena_get(index), HEW_DECAY_DIRTY);
}

/* Looks until the step that is being tried has been judged: each after a processor's millisecond or ten, and with so much wanted again. */
static void
look_until_judged(uint64_t wanted_again)
{
    for (unsigned look = 0; look < LOOKS_MOST && hew_stats_tuned().kept + hew_stats_tuned().undone == 0; look++) {
        be_busy_ms(5);
        look_after(wanted_again, wanted_again);
    }
}

TEST(off_it_never_looks)
{
    begin_anew(HEW_TUNING_OFF);
    CHECK_EQUAL(hew_tuning_round(1), 0);
    CHECK_EQUAL(hew_tuning_round(UINT64_C(1) << 40), 0);
    CHECK_EQUAL(hew_stats_tuned().windows, 0);
    CHECK_EQUAL(hew_stats_tuned().dirty_decay_ms, 10000);
}

TEST(it_looks_once_a_second_at_most)
{
    begin_anew(HEW_TUNING_ON);
    uint64_t begin = made_up_ms += LOOK_MS;
    CHECK_EQUAL(hew_tuning_round(begin), LOOK_MS);
    CHECK_EQUAL(hew_tuning_round(begin + 400), 600);
    CHECK_EQUAL(hew_stats_tuned().windows, 0);
    CHECK(hew_tuning_round(begin + LOOK_MS) >= LOOK_MS);
    CHECK_EQUAL(hew_stats_tuned().windows, 1);
    CHECK(hew_stats_tuned().own_ns > 0);
    made_up_ms += LOOK_MS;
}

TEST(an_arena_whose_decay_the_program_has_set_is_left_alone_and_another_is_not)
{
    begin_anew(HEW_TUNING_ON);
    struct hew_arena *one = hew_arena_get(0), *other = hew_arena_get(1);
    hew_arena_set_decay_ms(one, HEW_DECAY_DIRTY, 5000);
    CHECK(!hew_page_retime(&one->pages, 40000, 1) && hew_page_retime(&other->pages, 40000, 1));
    CHECK_EQUAL(hew_arena_decay_ms(one, HEW_DECAY_DIRTY), 5000);
    CHECK_EQUAL(hew_arena_decay_ms(other, HEW_DECAY_DIRTY), 40000);
}

TEST(an_arena_made_while_the_program_had_set_another_time_for_new_ones_is_left_alone)
{
    int64_t usual = hew_arena_decay_ms(NULL, HEW_DECAY_DIRTY);
    hew_arena_set_decay_ms(NULL, HEW_DECAY_DIRTY, 1000);
    struct hew_arena *arena = hew_arena_get(2);
    hew_arena_set_decay_ms(NULL, HEW_DECAY_DIRTY, usual);
    CHECK(arena != NULL && !hew_page_retime(&arena->pages, usual, 1));
    CHECK_EQUAL(hew_arena_decay_ms(arena, HEW_DECAY_DIRTY), 1000);
}

TEST(memory_that_is_wanted_again_stays_longer_and_goes_on_so_if_that_pays)
{
    begin_with_much_returned(HEW_TUNING_ON);
    look_after(0, MUCH);
    CHECK(hew_stats_tuned().dirty_decay_ms == 40000 && decay_of_arena(1) == 40000);
    CHECK_EQUAL(hew_steps_read(steps), 1);
    CHECK(steps[0].outcome == HEW_STEP_TRIED && steps[0].lever == HEW_STEP_DIRTY_DECAY);
    CHECK(steps[0].before == 10000 && steps[0].after == 40000 && steps[0].at_ms == made_up_ms);
    CHECK(steps[0].reason_before >= 500000 && steps[0].effect_before >= 5000 && steps[0].effect_after == 0);
    look_until_judged(0);
    CHECK(hew_stats_tuned().kept == 1 && hew_stats_tuned().undone == 0 && hew_stats_tuned().steps == 1);
    CHECK(hew_stats_tuned().dirty_decay_ms == 40000 && decay_of_arena(1) == 40000);
    CHECK(hew_steps_read(steps) == 2 && steps[1].outcome == HEW_STEP_KEPT);
    CHECK(steps[1].before == 10000 && steps[1].after == 40000 && steps[1].effect_after < steps[1].effect_before);
}

TEST(a_longer_time_that_does_not_pay_is_undone)
{
    begin_with_much_returned(HEW_TUNING_ON);
    look_after(0, MUCH);
    CHECK_EQUAL(decay_of_arena(1), 40000);
    look_until_judged(MUCH);
    CHECK(hew_stats_tuned().kept == 0 && hew_stats_tuned().undone == 1);
    CHECK(hew_stats_tuned().dirty_decay_ms == 10000 && decay_of_arena(1) == 10000);
    CHECK(hew_steps_read(steps) == 2 && steps[1].outcome == HEW_STEP_UNDONE);
    CHECK(steps[1].before == 10000 && steps[1].after == 40000 && steps[1].effect_after != 0);
}

TEST(a_window_in_which_a_count_has_fallen_does_not_move_the_decay_time)
{
    begin_with_much_returned(HEW_TUNING_ON);
    let_a_count_fall();
    look_after(0, MUCH);
    CHECK(hew_stats_tuned().dirty_decay_ms == 10000 && hew_stats_tuned().steps == 0);
}

TEST(what_the_user_has_set_stays_set)
{
    begin_anew(HEW_TUNING_ON);
    hew_option_note_chosen(&hew_options, option_of("dirty_decay_ms"));
    hew_tuning_round(made_up_ms += LOOK_MS);
    CHECK_EQUAL(hew_tuning_round(made_up_ms += LOOK_MS), LOOK_MS); /* for depots' room alone, */
    hew_budget_set_depots(100, false);
    CHECK_EQUAL(hew_tuning_round(made_up_ms += LOOK_MS), 0); /* unless that is set, too */
    hew_budget_set_depots(100, true);
    CHECK(hew_stats_tuned().windows == 0 && hew_stats_tuned().dirty_decay_ms == 10000);
}

/* A step is on trial when the program sets a time for arenas made later. */
static void
set_amid_a_trial(int64_t decay_ms)
{
    begin_with_much_returned(HEW_TUNING_ON);
    look_after(0, MUCH);
    CHECK_EQUAL(decay_of_arena(1), 40000);
    hew_arena_set_decay_ms(NULL, HEW_DECAY_DIRTY, decay_ms);
    hew_tuning_round(made_up_ms += 2 * LOOK_MS);
    CHECK(decay_of_arena(1) == 10000 && hew_stats_tuned().dirty_decay_ms == 10000);
    CHECK(hew_steps_read(steps) == 2 && steps[1].outcome == HEW_STEP_UNDONE);
    CHECK_EQUAL(hew_tuning_round(made_up_ms += 2 * LOOK_MS), LOOK_MS); /* for depots' room */
    hew_tuning_stop();
    CHECK(decay_of_arena(1) == 10000 && hew_stats_tuned().undone == 1);
    hew_arena_set_decay_ms(NULL, HEW_DECAY_DIRTY, 10000);
}

TEST(once_the_program_sets_a_time_for_new_arenas_what_was_moved_is_as_set_again_and_stays_so)
{
    set_amid_a_trial(3000);
    set_amid_a_trial(10000); /* be it the one that was there */
}

TEST(arenas_of_the_program_count_for_nothing_and_may_go_at_any_moment)
{
    begin_with_much_returned(HEW_TUNING_ON);
    struct hew_arena *own = NULL;
    HEW_EACH_ARENA(arena)
    {
        own = arena; /* the last one */
    }
    own->manual = true;
    hew_mutex_lock(&own->pages.lock);
    own->pages.counts.taken += MUCH;
    own->pages.counts.taken_fresh += MUCH;
    own->pages.counts.gone += MUCH;
    hew_mutex_unlock(&own->pages.lock);
    look_after(0, 0);
    CHECK(hew_stats_tuned().steps == 0 && hew_stats_tuned().dirty_decay_ms == 10000);
    own->manual = false;
}

TEST(when_the_thread_ends_a_step_that_is_being_tried_is_undone)
{
    begin_with_much_returned(HEW_TUNING_ON);
    look_after(0, MUCH);
    CHECK_EQUAL(decay_of_arena(1), 40000);
    hew_tuning_stop();
    CHECK(decay_of_arena(1) == 10000 && hew_stats_tuned().dirty_decay_ms == 10000);
    CHECK(hew_steps_read(steps) == 2 && steps[1].outcome == HEW_STEP_UNDONE);
    CHECK(steps[1].before == 10000 && steps[1].after == 40000 && hew_stats_tuned().undone == 1);
    hew_tuning_stop();
    CHECK_EQUAL(hew_stats_tuned().undone, 1);
}

TEST(in_a_forks_child_the_parents_steps_are_not_its_own_and_times_are_as_set_from_the_first_look_on)
{
    begin_with_much_returned(HEW_TUNING_ON);
    look_after(0, MUCH);
    CHECK_EQUAL(decay_of_arena(1), 40000);
    hew_tuning_after_fork();
    CHECK(hew_stats_tuned().dirty_decay_ms == 10000 && hew_stats_tuned().steps == 0);
    CHECK(hew_steps_read(steps) == 0 && hew_stats_tuned().windows == 0 && hew_stats_tuned().own_ns == 0);
    hew_tuning_round(made_up_ms += LOOK_MS);
    look_after(0, 0);
    CHECK_EQUAL(decay_of_arena(1), 10000);
}

TEST(observing_it_thinks_of_the_decay_time_from_what_is_set_each_time)
{
    begin_with_much_returned(HEW_TUNING_OBSERVE);
    for (unsigned i = 0; i < 1000 && hew_stats_tuned().steps < 3; i++) {
        look_after(0, MUCH);
        look_after(MUCH, 0);
    }
    unsigned count = hew_steps_read(steps);
    CHECK(count == 3 && hew_stats_tuned().steps == 3 && hew_stats_tuned().kept + hew_stats_tuned().undone == 0);
    for (unsigned i = 0; i < count; i++) {
        CHECK(steps[i].outcome == HEW_STEP_THOUGHT && steps[i].before == 10000 && steps[i].after == 40000);
    }
    CHECK(hew_stats_tuned().dirty_decay_ms == 10000 && decay_of_arena(1) == 10000);
}

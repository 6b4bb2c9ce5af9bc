/* SPDX-License-Identifier: MIT */
/* controller: its looks come at made-up times, while threads fill and flush in earnest. */
#include "tuning/controller.h"

#include "cache/budget.h"
#include "cache/magazine.h"
#include "cache/thread.h"
#include "layers_alloc.h"
#include "os/clock.h"
#include "slab/arena_life.h"
#include "stats/tuning.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define CODE 20
#define BATCH 4000 /* more than magazines and depots have room for */
#define THREADS 2
#define LOOKS_MOST 4000
#define LOOK_MS 1000 /* made-up ones between two looks */
#define MUCH (UINT64_C(200) << 20)

static atomic_bool done;
static uint64_t made_up_ms = 1000;

static void
boot_once(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = 2;
    }
    hew_cache_self = &hew_cache_none;
}

/* Batches that go to the bins and come from there: as much as there is to lose. */
static void *
fill_and_flush(void *nothing)
{
    static __thread void *objects[BATCH];
    hew_cache_self = &hew_cache_none;
    struct hew_cache *cache = hew_thread_birth(true);
    while (cache != NULL && !atomic_load(&done)) {
        for (unsigned i = 0; i < BATCH; i++) {
            objects[i] = hew_magazine_pop(cache, CODE);
        }
        for (unsigned i = 0; i < BATCH && objects[i] != NULL; i++) {
            hew_magazine_push(cache, CODE, objects[i]);
        }
    }
    hew_thread_leave();
    return nothing;
}

/* Looks at working threads until `number` has changed, or for as long as can be expected of a slow machine. */
static void
look_until_changed(enum hew_stats_tuning_number number)
{
    pthread_t threads[THREADS];
    uint64_t before = atomic_load(&hew_stats_tuning[number]);
    atomic_store(&done, false);
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, fill_and_flush, NULL), 0);
    }
    for (unsigned looks = 0; looks < LOOKS_MOST && atomic_load(&hew_stats_tuning[number]) == before; looks++) {
        uint64_t end = hew_clock_ns() + 5000000;
        while (hew_clock_ns() < end) {
        }
        made_up_ms += LOOK_MS;
        uint64_t next = hew_tuning_round(made_up_ms);
        CHECK(next != 0 || hew_options.tuning == HEW_TUNING_OFF);
        CHECK(hew_stats_tuned().lost_ppm <= 1000000);
    }
    atomic_store(&done, true);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* What is in force, in percent. */
static unsigned
room(void)
{
    CHECK_EQUAL(atomic_load(&hew_budget_room.share), 100); /* not the controller's */
    return atomic_load(&hew_budget_room.depots);
}

/* The controller begins anew, as in a fork's child. */
static void
begin_anew(enum hew_tuning mode)
{
    boot_once();
    hew_tuning_after_fork();
    hew_options.tuning = mode;
    memset(hew_options.chosen, 0, sizeof hew_options.chosen);
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

TEST(off_it_never_looks)
{
    begin_anew(HEW_TUNING_OFF);
    CHECK_EQUAL(hew_tuning_round(1), 0);
    CHECK_EQUAL(hew_tuning_round(UINT64_C(1) << 40), 0);
    CHECK_EQUAL(hew_stats_tuned().windows, 0);
    CHECK(hew_stats_tuned().depot_room == 100 && hew_stats_tuned().dirty_decay_ms == 10000);
}

TEST(observing_it_only_says_what_it_would_do)
{
    struct hew_stats_step steps[HEW_STATS_STEPS];
    begin_anew(HEW_TUNING_OBSERVE);
    hew_options.tuning_memory = 100;
    look_until_changed(HEW_STATS_TUNING_steps);
    unsigned count = hew_stats_steps(steps);
    CHECK(count >= 1 && steps[count - 1].outcome == HEW_STEP_THOUGHT);
    CHECK(steps[0].lost_before >= 5000 && steps[0].before == 100 && steps[0].after == 200);
    CHECK(room() == 100 && hew_stats_tuned().depot_room == 100);
    CHECK_EQUAL(hew_stats_tuned().kept + hew_stats_tuned().undone, 0);
}

TEST(what_the_user_has_set_stays_set)
{
    begin_anew(HEW_TUNING_ON);
    hew_option_note_chosen(&hew_options, option_of("depot_room"));
    uint64_t steps = hew_stats_tuned().steps, windows = hew_stats_tuned().windows;
    for (unsigned i = 0; i < 20; i++) {
        look_until_changed(HEW_STATS_TUNING_windows);
    }
    CHECK(hew_stats_tuned().windows >= windows + 20 && hew_stats_tuned().steps == steps);
    CHECK_EQUAL(room(), 100);
}

TEST(a_step_is_tried_on_threads_that_lose_much_and_ends_kept_or_undone)
{
    struct hew_stats_step steps[HEW_STATS_STEPS];
    begin_anew(HEW_TUNING_ON);
    look_until_changed(HEW_STATS_TUNING_steps);
    unsigned count = hew_stats_steps(steps);
    CHECK(count >= 1 && steps[count - 1].outcome == HEW_STEP_TRIED);
    CHECK_EQUAL(room(), 200);
    uint64_t ended = hew_stats_tuned().kept + hew_stats_tuned().undone;
    for (unsigned i = 0; i < 100 && hew_stats_tuned().kept + hew_stats_tuned().undone == ended; i++) {
        look_until_changed(HEW_STATS_TUNING_windows);
    }
    CHECK_EQUAL(hew_stats_tuned().kept + hew_stats_tuned().undone, ended + 1);
    count = hew_stats_steps(steps);
    bool kept = steps[count - 1].outcome == HEW_STEP_KEPT;
    CHECK(kept || steps[count - 1].outcome == HEW_STEP_UNDONE || steps[count - 1].outcome == HEW_STEP_COSTLY);
    CHECK_EQUAL(room(), kept ? 200 : 100);
}

TEST(while_a_step_is_being_tried_the_next_look_comes_within_a_second)
{
    begin_anew(HEW_TUNING_ON);
    look_until_changed(HEW_STATS_TUNING_steps);
    CHECK_EQUAL(room(), 200);
    uint64_t windows = hew_stats_tuned().windows;
    usleep(20000); /* hardly any processor time: looks are dear */
    uint64_t next = hew_tuning_round(made_up_ms += LOOK_MS);
    CHECK(next <= LOOK_MS || room() == 100); /* or it ended just now */
    CHECK_EQUAL(hew_stats_tuned().windows, windows + 1);
}

TEST(with_more_room_than_usual_a_program_that_works_again_after_silence_is_looked_at_early)
{
    begin_anew(HEW_TUNING_ON);
    look_until_changed(HEW_STATS_TUNING_steps);
    CHECK_EQUAL(room(), 200);
    usleep(20000);
    hew_tuning_round(made_up_ms += LOOK_MS);
    usleep(20000);
    uint64_t next = hew_tuning_round(made_up_ms += LOOK_MS), windows = hew_stats_tuned().windows;
    CHECK_EQUAL(hew_tuning_round(made_up_ms + 20), next - 20);
    uint64_t end = hew_clock_process_ns() + 5000000;
    while (hew_clock_process_ns() < end) {
    }
    CHECK_EQUAL(hew_stats_tuned().windows, windows);
    bool due = room() == 200 || next <= 60;
    hew_tuning_round(made_up_ms += 60);
    CHECK_EQUAL(hew_stats_tuned().windows, due ? windows + 1 : windows);
}

TEST(a_step_that_is_being_tried_as_the_program_falls_silent_is_undone)
{
    begin_anew(HEW_TUNING_ON);
    look_until_changed(HEW_STATS_TUNING_steps);
    CHECK_EQUAL(room(), 200);
    uint64_t ended = hew_stats_tuned().kept + hew_stats_tuned().undone;
    for (unsigned looks = 0; looks < 12; looks++) {
        usleep(20000);
        hew_tuning_round(made_up_ms += LOOK_MS);
    }
    CHECK_EQUAL(hew_stats_tuned().kept + hew_stats_tuned().undone, ended + 1);
}

TEST(when_the_thread_ends_a_step_that_is_being_tried_is_undone)
{
    struct hew_stats_step steps[HEW_STATS_STEPS];
    begin_anew(HEW_TUNING_ON);
    look_until_changed(HEW_STATS_TUNING_steps);
    CHECK_EQUAL(room(), 200);
    hew_tuning_stop();
    CHECK(room() == 100 && hew_stats_tuned().depot_room == 100);
    unsigned count = hew_stats_steps(steps);
    CHECK_EQUAL(steps[count - 1].outcome, HEW_STEP_UNDONE);
    uint64_t undone = hew_stats_tuned().undone;
    hew_tuning_stop();
    CHECK_EQUAL(hew_stats_tuned().undone, undone);
}

TEST(in_a_forks_child_what_was_moved_is_as_set_again_and_the_parents_steps_are_not_its_own)
{
    struct hew_stats_step steps[HEW_STATS_STEPS];
    begin_anew(HEW_TUNING_ON);
    look_until_changed(HEW_STATS_TUNING_steps);
    CHECK_EQUAL(room(), 200);
    hew_tuning_after_fork();
    CHECK(room() == 100 && hew_stats_tuned().depot_room == 100 && hew_stats_tuned().dirty_decay_ms == 10000);
    CHECK(hew_stats_steps(steps) == 0 && hew_stats_tuned().steps == 0 && hew_stats_tuned().windows == 0);
    CHECK_EQUAL(hew_stats_tuned().own_ns, 0);
    CHECK(hew_tuning_round(made_up_ms) != 0);
}

TEST(an_arena_whose_decay_the_program_has_set_is_left_alone_and_another_is_not)
{
    begin_anew(HEW_TUNING_ON);
    struct hew_arena *one = hew_arena_get(0), *other = hew_arena_get(1);
    hew_arena_set_decay_ms(one, HEW_DECAY_DIRTY, 5000);
    CHECK(!hew_page_retime(&one->pages, 20000, 1) && hew_page_retime(&other->pages, 20000, 1));
    CHECK_EQUAL(hew_arena_decay_ms(one, HEW_DECAY_DIRTY), 5000);
    CHECK_EQUAL(hew_arena_decay_ms(other, HEW_DECAY_DIRTY), 20000);
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

/* A look, after so many bytes went back to the system, or were taken of it. */
static void
look_after(uint64_t returned, uint64_t taken)
{
    struct hew_page_heap *heap = &hew_arena_get(0)->pages;
    uint64_t windows = hew_stats_tuned().windows;
    hew_mutex_lock(&heap->lock);
    heap->counts.dirty_purged += returned;
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
    CHECK(heap->counts.muzzy_purged == 0 && heap->counts.dirty_purged >= MUCH);
    heap->counts.dirty_purged -= MUCH;
    hew_mutex_unlock(&heap->lock);
}

/* The controller begins anew, and no arena's time is the program's. */
static void
begin_with_a_decay_time(enum hew_tuning mode)
{
    begin_anew(mode);
    CHECK_EQUAL(hew_arena_decay_ms(NULL, HEW_DECAY_DIRTY), 10000);
    hew_tuning_round(made_up_ms += LOOK_MS);
    look_after(MUCH, 0);
}

TEST(memory_that_is_wanted_again_stays_longer)
{
    begin_with_a_decay_time(HEW_TUNING_ON);
    look_after(0, MUCH);
    CHECK_EQUAL(hew_stats_tuned().dirty_decay_ms, 20000);
}

TEST(a_window_in_which_a_count_has_fallen_does_not_move_the_decay_time)
{
    begin_with_a_decay_time(HEW_TUNING_ON);
    let_a_count_fall();
    look_after(0, MUCH);
    CHECK_EQUAL(hew_stats_tuned().dirty_decay_ms, 10000);
}

TEST(observing_it_thinks_of_the_decay_time_from_what_is_set_each_time)
{
    struct hew_stats_step steps[HEW_STATS_STEPS];
    unsigned thought = 0;
    begin_with_a_decay_time(HEW_TUNING_OBSERVE);
    uint64_t began = hew_stats_tuned().steps;
    for (unsigned i = 0; i < 1000 && hew_stats_tuned().steps < began + 3; i++) {
        look_after(0, MUCH);
        look_after(MUCH, 0);
    }
    for (unsigned count = hew_stats_steps(steps), i = 0; i < count; i++) {
        if (steps[i].lever == HEW_STEP_DIRTY_DECAY && steps[i].outcome == HEW_STEP_THOUGHT) {
            thought++;
            CHECK(steps[i].before == 10000 && steps[i].after == 20000);
        }
    }
    CHECK(thought >= 3 && hew_stats_tuned().dirty_decay_ms == 10000);
    CHECK_EQUAL(hew_arena_decay_ms(hew_arena_get(1), HEW_DECAY_DIRTY), 10000);
}

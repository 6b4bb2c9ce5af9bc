/* SPDX-License-Identifier: MIT */
#include "base/steps.h"

#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MOST = HEW_STEP_LEVERS * HEW_STEPS_KEPT, TELLERS = 3, TOLD = 20000 };

static struct hew_step steps[MOST];
static atomic_bool done;

/* Every number of a step follows from one, so that a torn one shows. */
static struct hew_step
made_of(uint64_t number, unsigned lever)
{
    return (struct hew_step){
        .at_ms = number,
        .lever = lever,
        .outcome = number % HEW_STEP_OUTCOMES,
        .before = number * 3,
        .after = number * 5,
        .reason_before = number * 7,
        .reason_after = number * 11,
        .effect_before = number * 13,
        .effect_after = number * 17,
    };
}

static bool
is_whole(const struct hew_step *step)
{
    struct hew_step same = made_of(step->at_ms, (unsigned)step->lever);
    return memcmp(&same, step, sizeof same) == 0;
}

TEST(steps_are_read_in_order_of_time_whichever_lever_told_them)
{
    hew_steps_forget();
    CHECK_EQUAL(hew_steps_read(steps), 0);
    for (uint64_t number = 1; number <= 10; number++) {
        struct hew_step step = made_of(number, number % 3 == 0 ? HEW_STEP_DIRTY_DECAY : HEW_STEP_CACHE_ROOM);
        hew_steps_tell(&step);
    }
    CHECK_EQUAL(hew_steps_read(steps), 10);
    for (unsigned at = 0; at < 10; at++) {
        CHECK(steps[at].at_ms == at + 1 && is_whole(&steps[at]));
    }
}

TEST(a_lever_that_tells_much_overwrites_its_own_steps_alone)
{
    hew_steps_forget();
    struct hew_step seldom = made_of(5, HEW_STEP_DIRTY_DECAY);
    hew_steps_tell(&seldom);
    for (uint64_t number = 100; number < 1000; number++) {
        struct hew_step step = made_of(number, HEW_STEP_CACHE_ROOM);
        hew_steps_tell(&step);
    }
    CHECK_EQUAL(hew_steps_read(steps), HEW_STEPS_KEPT + 1);
    CHECK(steps[0].lever == HEW_STEP_DIRTY_DECAY && steps[0].at_ms == 5);
    CHECK(steps[1].at_ms == 1000 - HEW_STEPS_KEPT && steps[HEW_STEPS_KEPT].at_ms == 999);
}

TEST(what_was_told_is_forgotten_and_what_is_told_then_is_not)
{
    struct hew_step step = made_of(7, HEW_STEP_CACHE_ROOM);
    hew_steps_tell(&step);
    hew_steps_forget();
    CHECK_EQUAL(hew_steps_read(steps), 0);
    hew_steps_tell(&step);
    CHECK(hew_steps_read(steps) == 1 && is_whole(&steps[0]));
}

TEST(levers_and_outcomes_have_names)
{
    CHECK(strcmp(hew_step_lever_name(HEW_STEP_CACHE_ROOM), "cache_room") == 0);
    CHECK(strcmp(hew_step_lever_name(HEW_STEP_DIRTY_DECAY), "dirty_decay_ms") == 0);
    CHECK(strcmp(hew_step_outcome_name(HEW_STEP_TRIED), "being tried") == 0);
    CHECK(strcmp(hew_step_outcome_name(HEW_STEP_THOUGHT), "would try") == 0);
}

static void *
tell_many(void *argument)
{
    for (uint64_t number = 1; number <= TOLD; number++) {
        struct hew_step step = made_of(number * TELLERS + (uintptr_t)argument, HEW_STEP_CACHE_ROOM);
        hew_steps_tell(&step);
    }
    return NULL;
}

static void *
read_until_done(void *unused)
{
    static struct hew_step seen[MOST];
    unsigned torn = 0;
    while (!atomic_load(&done)) {
        unsigned count = hew_steps_read(seen);
        for (unsigned at = 0; at < count; at++) {
            torn += !is_whole(&seen[at]);
        }
    }
    CHECK_EQUAL(torn, 0);
    return unused;
}

/* One teller, so that no two are in one place: then no step is ever torn, however late its reader. */
TEST(a_step_is_read_whole_or_not_at_all)
{
    pthread_t reader, teller;
    hew_steps_forget();
    atomic_store(&done, false);
    CHECK_EQUAL(pthread_create(&reader, NULL, read_until_done, NULL), 0);
    CHECK_EQUAL(pthread_create(&teller, NULL, tell_many, (void *)0), 0);
    pthread_join(teller, NULL);
    atomic_store(&done, true);
    pthread_join(reader, NULL);
}

TEST(several_threads_may_tell_at_once)
{
    pthread_t tellers[TELLERS];
    hew_steps_forget();
    for (uintptr_t i = 0; i < TELLERS; i++) {
        CHECK_EQUAL(pthread_create(&tellers[i], NULL, tell_many, (void *)i), 0);
    }
    for (unsigned i = 0; i < TELLERS; i++) {
        pthread_join(tellers[i], NULL);
    }
    unsigned count = hew_steps_read(steps);
    CHECK(count != 0 && count <= HEW_STEPS_KEPT);
}

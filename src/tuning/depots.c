/* SPDX-License-Identifier: MIT */
/* depots: the clock of the process, which costs by the number of threads, is read in trials alone. */
#include "tuning/depots.h"

#include "base/steps.h"
#include "cache/budget.h"
#include "cache/depot.h"
#include "cache/ghost.h"
#include "cache/work.h"
#include "os/clock.h"
#include "stats/tuning.h"
#include "tuning/room.h"

#define REST_LOOK_MS 1000u
#define LATE_MS 2000u  /* a window that ends so much later than it should tells of something else */
#define OWN_PART 1000u /* of the time: a look takes no more */

static struct {
    bool begun;
    uint64_t looked_ms, wait_ms, cpu_ns, operations; /* as of the last look */
    struct hew_room room;
} depots;

/* What the state of the trial asks for. */
static void
apply(void)
{
    bool tried = hew_room_is_tried(&depots.room), denies = hew_room_denies(&depots.room);
    hew_work_listen(tried);
    enum hew_ghost_permission more = hew_room_grants(&depots.room) ? HEW_GHOST_GRANTED : HEW_GHOST_ALLOWED;
    hew_ghost_permit(!denies ? more : tried ? HEW_GHOST_SUSPENDED : HEW_GHOST_DENIED);
}

static void
tell_verdict(enum hew_step_outcome outcome, struct hew_depot_room bytes, uint64_t now_ms)
{
    hew_stats_tuning_count(HEW_STATS_TUNING_depots_judged, 1);
    hew_stats_tuning_count(HEW_STATS_TUNING_depots_undone, outcome == HEW_STEP_UNDONE);
    hew_steps_tell(&(struct hew_step){
        .at_ms = now_ms,
        .lever = HEW_STEP_DEPOT_ROOM,
        .outcome = outcome,
        .before = 100,
        .after = 100 + bytes.more * 100 / (bytes.usual == 0 ? 1 : bytes.usual),
        .effect_before = hew_room_middle(depots.room.without),
        .effect_after = hew_room_middle(depots.room.with),
    });
}

static void
step(struct hew_room_window window, uint64_t now_ms)
{
    struct hew_depot_room bytes = hew_depot_room();
    window.more = bytes.more;
    window.asked = bytes.asked;
    enum hew_room_outcome outcome = hew_room_step(&depots.room, &window);
    if (outcome == HEW_ROOM_KEPT || outcome == HEW_ROOM_UNDONE) {
        tell_verdict(outcome == HEW_ROOM_KEPT ? HEW_STEP_KEPT : HEW_STEP_UNDONE, bytes, now_ms);
    }
    apply();
}

/* Returns the milliseconds of which that took no more than it may. */
static uint64_t
end_window(uint64_t passed_ms, uint64_t now_ms)
{
    uint64_t began = hew_clock_thread_ns(), cpu_ns = hew_clock_process_ns(), operations = hew_work_told();
    step((struct hew_room_window){.passed_ms = passed_ms,
                                  .cpu_ns = cpu_ns - depots.cpu_ns,
                                  .operations = operations - depots.operations},
         now_ms);
    depots.cpu_ns = cpu_ns; /* of the first window nobody asks */
    depots.operations = operations;
    uint64_t took = hew_clock_thread_ns() - began;
    hew_stats_tuning_count(HEW_STATS_TUNING_windows, 1);
    hew_stats_tuning_count(HEW_STATS_TUNING_own_ns, took);
    return took * OWN_PART / 1000000;
}

/* Returns the milliseconds to the next look. */
static uint64_t
look(uint64_t passed_ms, uint64_t now_ms)
{
    uint64_t least_ms = 0;
    if (passed_ms > depots.wait_ms + LATE_MS) {
        hew_depots_pause();
    }
    if (hew_room_is_tried(&depots.room)) {
        least_ms = end_window(passed_ms, now_ms);
    } else {
        step((struct hew_room_window){.passed_ms = passed_ms}, now_ms);
    }
    uint64_t usual_ms = hew_room_is_tried(&depots.room) ? HEW_ROOM_WINDOW_MS : REST_LOOK_MS;
    return least_ms < usual_ms ? usual_ms : least_ms;
}

uint64_t
hew_depots_look(uint64_t now_ms)
{
    if (!hew_budget_depots_may_grow()) {
        return 0;
    }
    if (!depots.begun) {
        depots.begun = true;
        depots.looked_ms = now_ms;
        depots.wait_ms = REST_LOOK_MS;
        hew_room_begin(&depots.room);
    }
    uint64_t passed_ms = now_ms - depots.looked_ms;
    if (passed_ms < depots.wait_ms) {
        return depots.wait_ms - passed_ms;
    }
    depots.looked_ms = now_ms;
    depots.wait_ms = look(passed_ms, now_ms);
    return depots.wait_ms;
}

void
hew_depots_pause(void)
{
    if (hew_room_is_tried(&depots.room)) {
        hew_room_leave(&depots.room);
        apply();
    }
}

void
hew_depots_forget(void)
{
    depots.begun = false;
    hew_room_begin(&depots.room);
    apply();
}

/* SPDX-License-Identifier: MIT */
/* controller: what it reads are page heaps' counts, each under its heap's lock, one at a time. */
#include "tuning/controller.h"

#include "base/options.h"
#include "base/steps.h"
#include "os/clock.h"
#include "page/bound.h"
#include "slab/arena_life.h"
#include "stats/tuning.h"
#include "tuning/depots.h"
#include "tuning/residence.h"

#include <string.h>

#define WINDOW_MS 1000u
#define OWN_PART 1000u /* of the time: a look takes no more */

/* A page that went back and came again: a fault and zeroes, and a part of the call that returned it. */
#define LOST_PER_PAGE_NS 400u

struct counters {
    uint64_t cpu_ns;       /* processor time of the whole process */
    uint64_t returned;     /* bytes of pages that went back to the system, */
    uint64_t taken, fresh; /* that were wanted, and those of them that came from the system */
};

/* The calling thread's own; after_fork writes it before there is one. */
static struct tuning {
    bool begun;
    bool stopped; /* nobody has looked for a while */
    uint64_t looked_ms, wait_ms;
    struct counters counters;
    struct hew_residence residence;
    bool residence_is_free;
    uint64_t usual_decay_ms;
} tuning;

static void
tell(enum hew_stats_tuning_number number, uint64_t value)
{
    atomic_store_explicit(&hew_stats_tuning[number], value, memory_order_relaxed);
}

static bool
observes(void)
{
    return hew_options.tuning == HEW_TUNING_OBSERVE;
}

/* Those that a program has made are its own, and may be destroyed at any moment. */
static bool
is_ours(const struct hew_arena *arena)
{
    return !__atomic_load_n(&arena->manual, __ATOMIC_RELAXED);
}

static void
read_counters(struct counters *now)
{
    *now = (struct counters){.cpu_ns = hew_clock_process_ns()};
    HEW_EACH_ARENA(arena)
    {
        if (!is_ours(arena)) {
            continue;
        }
        struct hew_page_heap *heap = &arena->pages;
        hew_mutex_lock(&heap->lock);
        now->returned += heap->counts.gone;
        now->taken += heap->counts.taken;
        now->fresh += heap->counts.taken_fresh;
        hew_mutex_unlock(&heap->lock);
    }
}

static void
tuning_begin(uint64_t now_ms)
{
    memset(&tuning, 0, sizeof tuning);
    tuning.looked_ms = now_ms;
    tuning.wait_ms = WINDOW_MS;
    tuning.residence_is_free = !HEW_OPTION_IS_CHOSEN(dirty_decay_ms) && hew_options.dirty_decay_ms > 0;
    tuning.usual_decay_ms = hew_options.dirty_decay_ms > 0 ? (uint64_t)hew_options.dirty_decay_ms : 0;
    tell(HEW_STATS_TUNING_dirty_decay_ms, (uint64_t)hew_options.dirty_decay_ms);
    read_counters(&tuning.counters);
    tuning.begun = true;
}

/* Every arena of ours for which nobody has set a time, those made since among them. */
static void
retime_arenas(uint64_t decay_ms, uint64_t now_ms)
{
    HEW_EACH_ARENA(arena)
    {
        if (is_ours(arena)) {
            hew_page_retime(&arena->pages, (int64_t)decay_ms, now_ms);
        }
    }
}

static uint64_t
decay_in_force(void)
{
    return hew_residence_time(&tuning.residence, tuning.usual_decay_ms);
}

/* `before`: the time before the step; `tried`: that of the step itself. */
static void
tell_step(enum hew_step_outcome outcome, uint64_t before, uint64_t tried, uint64_t now_ms)
{
    const struct hew_residence *residence = &tuning.residence;
    hew_steps_tell(&(struct hew_step){
        .at_ms = now_ms,
        .lever = HEW_STEP_DIRTY_DECAY,
        .outcome = outcome,
        .before = before,
        .after = tried,
        .reason_before = residence->soon_ppm[0],
        .reason_after = residence->soon_ppm[1],
        .effect_before = residence->again_ppm[0],
        .effect_after = residence->again_ppm[1],
    });
}

static void
tell_outcome(enum hew_residence_outcome outcome, uint64_t before, uint64_t now_ms)
{
    uint64_t after = decay_in_force();
    switch (outcome) {
    case HEW_RESIDENCE_NOTHING:
        return;
    case HEW_RESIDENCE_TRIED:
        hew_stats_tuning_count(HEW_STATS_TUNING_steps, 1);
        tell_step(observes() ? HEW_STEP_THOUGHT : HEW_STEP_TRIED, before, after, now_ms);
        return;
    case HEW_RESIDENCE_KEPT:
        hew_stats_tuning_count(HEW_STATS_TUNING_kept, 1);
        tell_step(HEW_STEP_KEPT, after >> HEW_RESIDENCE_STEP_LG, after, now_ms);
        return;
    case HEW_RESIDENCE_UNDONE:
        hew_stats_tuning_count(HEW_STATS_TUNING_undone, 1);
        tell_step(HEW_STEP_UNDONE, after, before, now_ms);
        return;
    case HEW_RESIDENCE_BACK:
        hew_stats_tuning_count(HEW_STATS_TUNING_steps, 1);
        hew_stats_tuning_count(HEW_STATS_TUNING_kept, 1);
        tell_step(HEW_STEP_KEPT, before, after, now_ms);
        return;
    }
}

/* Where a step was made, or unmade.  Also for arenas made since, and in a fork's child for those that its parent had moved. */
static void
apply_residence(bool stepped, uint64_t now_ms)
{
    if (!observes()) {
        retime_arenas(decay_in_force(), now_ms);
        tell(HEW_STATS_TUNING_dirty_decay_ms, decay_in_force());
    } else if (stepped) {
        hew_residence_forgo(&tuning.residence, tuning.usual_decay_ms);
    }
}

/* Nobody will judge the step that is being tried. */
static void
undo(uint64_t now_ms)
{
    uint64_t tried = decay_in_force();
    hew_residence_forgo(&tuning.residence, tuning.usual_decay_ms);
    tell_outcome(HEW_RESIDENCE_UNDONE, tried, now_ms);
}

/* The program has set a time for arenas made later: what was moved goes back to what it was before, and stays there. */
static void
end_residence(uint64_t now_ms)
{
    bool moved = tuning.residence.position != 0 && !observes();
    if (hew_residence_is_tried(&tuning.residence)) {
        undo(now_ms);
    }
    tuning.residence_is_free = false;
    tuning.residence = (struct hew_residence){0};
    if (moved) {
        apply_residence(false, now_ms);
    }
}

static void
step_residence(const struct hew_residence_window *window)
{
    /* The program may set a time for arenas made later at any moment. */
    if (hew_arena_decay_is_chosen()) {
        end_residence(window->now_ms);
        return;
    }
    uint64_t before = decay_in_force();
    enum hew_residence_outcome outcome = hew_residence_step(&tuning.residence, window, tuning.usual_decay_ms);
    tell_outcome(outcome, before, window->now_ms);
    apply_residence(outcome != HEW_RESIDENCE_NOTHING, window->now_ms);
}

static void
tuning_look(uint64_t passed_ms, uint64_t now_ms)
{
    uint64_t began = hew_clock_thread_ns();
    struct counters before = tuning.counters, *now = &tuning.counters;
    read_counters(now);
    /* Counts of our arenas only rise: one that fell tells nothing.  And what came while nobody looked is no window. */
    bool tells = !tuning.stopped && now->cpu_ns >= before.cpu_ns && now->returned >= before.returned &&
                 now->taken >= before.taken && now->fresh >= before.fresh;
    tuning.stopped = false;
    if (tells && tuning.residence_is_free) {
        step_residence(&(struct hew_residence_window){
            .now_ms = now_ms,
            .passed_ms = passed_ms,
            .cpu_ns = now->cpu_ns - before.cpu_ns,
            .returned = now->returned - before.returned,
            .taken = now->taken - before.taken,
            .fresh = now->fresh - before.fresh,
            .lost_per_page = LOST_PER_PAGE_NS,
            .may_grow = hew_page_bound_is_far(0),
        });
    }
    uint64_t took = hew_clock_thread_ns() - began, least = took * OWN_PART / 1000000;
    tuning.wait_ms = least < WINDOW_MS ? WINDOW_MS : least;
    hew_stats_tuning_count(HEW_STATS_TUNING_windows, 1);
    hew_stats_tuning_count(HEW_STATS_TUNING_own_ns, took);
}

/* Milliseconds to the next look; 0: never. */
static uint64_t
look_at_residence(uint64_t now_ms)
{
    if (!tuning.begun) {
        tuning_begin(now_ms);
    }
    if (!tuning.residence_is_free) {
        return 0;
    }
    uint64_t since = now_ms - tuning.looked_ms;
    if (since < tuning.wait_ms) {
        return tuning.wait_ms - since;
    }
    tuning.looked_ms = now_ms;
    tuning_look(since, now_ms);
    return tuning.wait_ms;
}

uint64_t
hew_tuning_round(uint64_t now_ms)
{
    if (hew_options.tuning == HEW_TUNING_OFF) {
        return 0;
    }
    uint64_t residence = look_at_residence(now_ms);
    return hew_clock_earlier(residence, hew_depots_look(now_ms));
}

void
hew_tuning_pause(void)
{
    hew_depots_pause();
}

void
hew_tuning_stop(void)
{
    tuning.stopped = true;
    hew_depots_forget();
    if (!tuning.begun || !hew_residence_is_tried(&tuning.residence)) {
        return;
    }
    undo(tuning.looked_ms);
    apply_residence(false, tuning.looked_ms);
}

void
hew_tuning_after_fork(void)
{
    hew_stats_tuning_after_fork();
    hew_depots_forget();
    tuning.begun = false; /* arenas keep their decay time until the next look */
}

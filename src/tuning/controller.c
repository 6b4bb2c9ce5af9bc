/* SPDX-License-Identifier: MIT */
/* controller: trials of the depots' room, and the decay time beside them. */
#include "tuning/controller.h"

#include "base/options.h"
#include "os/clock.h"
#include "page/bound.h"
#include "slab/arena_life.h"
#include "tuning/lever.h"
#include "tuning/residence.h"

#include <string.h>

#define WINDOW_MS 50u
#define IDLE_MS 1000u                     /* between two looks at a process that hardly runs */
#define IDLE_PART 50u                     /* of the time: it has had less of a processor than that */
#define OWN_PART 1000u                    /* of the time: a look takes no more, */
#define OWN_CPU_PART 500u                 /* nor that part of the processor time of the process, */
#define LONGEST_MS 10000u                 /* unless that were so rare; */
#define TRIED_MS 1000u                    /* while a step stands unjudged it waits no longer, whatever that costs */
#define SPEND_LEAST (UINT64_C(256) << 10) /* bytes that all steps may add to the peak in any case, */
#define SPEND_PART 64u                    /* that part of it, beside what the setting allows */
#define ALL_PPM UINT32_C(1000000)

/* A page that went back and came again: a fault and zeroes, and a part of the call that returned it. */
#define LOST_PER_PAGE_NS 400u

/* The calling thread's own; after_fork writes it before there is one. */
static struct tuning {
    bool begun;
    bool stopped; /* nobody has looked for a while */
    uint64_t began_ms, looked_ms, wait_ms;
    struct hew_tuning_counters counters;
    struct hew_lever lever;
    struct hew_trial trial;
    struct hew_residence residence;
    uint64_t peak;      /* the most bytes that the heaps were seen to hold, */
    uint64_t live_peak; /* and the program of them */
    uint64_t spent;     /* bytes that steps have added to it */
    bool residence_is_free;
    uint64_t usual_decay_ms;
} tuning;

static void
tell(enum hew_stats_tuning_number number, uint64_t value)
{
    atomic_store_explicit(&hew_stats_tuning[number], value, memory_order_relaxed);
}

static void
tuning_count(enum hew_stats_tuning_number number, uint64_t more)
{
    atomic_fetch_add_explicit(&hew_stats_tuning[number], more, memory_order_relaxed);
}

static bool
observes(void)
{
    return hew_options.tuning == HEW_TUNING_OBSERVE;
}

static void
tuning_begin(uint64_t now_ms)
{
    memset(&tuning, 0, sizeof tuning);
    tuning.began_ms = tuning.looked_ms = now_ms;
    tuning.wait_ms = WINDOW_MS;
    tuning.lever = hew_lever_depot();
    hew_trial_begin(&tuning.trial);
    tuning.residence_is_free = !HEW_OPTION_IS_CHOSEN(dirty_decay_ms) && hew_options.dirty_decay_ms > 0;
    tuning.usual_decay_ms = hew_options.dirty_decay_ms > 0 ? (uint64_t)hew_options.dirty_decay_ms : 0;
    tell(HEW_STATS_TUNING_depot_room, hew_options.depot_room);
    tell(HEW_STATS_TUNING_dirty_decay_ms, (uint64_t)hew_options.dirty_decay_ms);
    hew_tuning_read(&tuning.counters);
    tuning.begun = true;
}

/* What all steps together may add to the most that the heaps ever held. */
static uint64_t
budget(void)
{
    uint64_t chosen = tuning.peak / 100 * hew_options.tuning_memory;
    return (tuning.peak / SPEND_PART < SPEND_LEAST ? SPEND_LEAST : tuning.peak / SPEND_PART) + chosen;
}

/* What a step may, of `all` that they may together: add to the most that the heaps ever held.  Near a limit of memory nothing. */
static uint64_t
may_spend(uint64_t all)
{
    return all <= tuning.spent || !hew_page_bound_is_far(0) ? 0 : all - tuning.spent;
}

static void
tell_step(enum hew_step_outcome outcome, uint64_t now_ms)
{
    const struct hew_trial *trial = &tuning.trial;
    /* A step that was undone is back where it began: what was tried lies one step on. */
    bool back = outcome == HEW_STEP_UNDONE || outcome == HEW_STEP_COSTLY || outcome == HEW_STEP_OUTGROWN;
    int tried = trial->position + (back ? trial->direction : 0);
    struct hew_stats_step step = {
        .at_ms = now_ms - tuning.began_ms,
        .lever = tuning.lever.step,
        .outcome = outcome,
        .before = hew_lever_percent(tried - trial->direction),
        .after = hew_lever_percent(tried),
        .lost_before = trial->before_ppm < ALL_PPM ? trial->before_ppm : ALL_PPM,
        .lost_after = outcome == HEW_STEP_TRIED || outcome == HEW_STEP_THOUGHT ? 0 : trial->after_ppm,
        .held_before = trial->held_before,
        .held_after = outcome == HEW_STEP_TRIED || outcome == HEW_STEP_THOUGHT ? 0 : trial->held_after,
    };
    hew_stats_step_add(&step);
}

static void
move(int position)
{
    unsigned percent = hew_lever_percent(position);
    tuning.lever.move(percent);
    tell(tuning.lever.number, percent);
}

static void
begin_step(uint64_t now_ms)
{
    tuning_count(HEW_STATS_TUNING_steps, 1);
    if (observes()) {
        tell_step(HEW_STEP_THOUGHT, now_ms);
        hew_trial_forgo(&tuning.trial);
        return;
    }
    tell_step(HEW_STEP_TRIED, now_ms);
    move(tuning.trial.position);
}

static void
act(enum hew_trial_outcome outcome, bool was_tried, uint64_t now_ms)
{
    bool ended = outcome == HEW_TRIAL_KEPT || outcome == HEW_TRIAL_UNDONE || outcome == HEW_TRIAL_COSTLY;
    tuning.spent += ended && tuning.trial.direction > 0 ? hew_trial_added(&tuning.trial)
                                                        : 0; /* the peak stays, whatever is undone */
    switch (outcome) {
    case HEW_TRIAL_NOTHING:
        return;
    case HEW_TRIAL_BEGUN:
        begin_step(now_ms);
        return;
    case HEW_TRIAL_KEPT:
        tuning_count(HEW_STATS_TUNING_kept, 1);
        tell_step(HEW_STEP_KEPT, now_ms);
        return;
    case HEW_TRIAL_OUTGROWN:
        tuning_count(HEW_STATS_TUNING_outgrown, 1);
        tuning_count(HEW_STATS_TUNING_undone, was_tried);
        tell_step(HEW_STEP_OUTGROWN, now_ms);
        move(tuning.trial.position);
        return;
    default:
        tuning_count(HEW_STATS_TUNING_undone, 1);
        tell_step(outcome == HEW_TRIAL_UNDONE ? HEW_STEP_UNDONE : HEW_STEP_COSTLY, now_ms);
        move(tuning.trial.position);
    }
}

static struct hew_trial_window
window_of(const struct hew_tuning_counters *window, uint64_t passed_ms, bool tells)
{
    uint64_t all = budget(), lasted = passed_ms < 2 * WINDOW_MS ? 1 : passed_ms / WINDOW_MS;
    return (struct hew_trial_window){
        .lost_ns = hew_tuning_lost_to_batches(window),
        .cpu_ns = window->cpu_ns,
        .held = window->held,
        .peak = tuning.peak,
        .live = window->live,
        .live_peak = tuning.live_peak,
        .may_spend = may_spend(all),
        .budget = all,
        .may_gain = tuning.lever.may_gain(window),
        .tells = tells,
        .lasted = lasted < UINT32_MAX ? (uint32_t)lasted : UINT32_MAX,
    };
}

/* In a window that does not tell what was lost, what is held is looked at all the same. */
static void
step_lever(const struct hew_tuning_counters *window, uint64_t passed_ms, bool tells, uint64_t now_ms)
{
    struct hew_trial_window seen = window_of(window, passed_ms, tells);
    if (tells) {
        uint32_t lost = hew_trial_ppm(seen.lost_ns, seen.cpu_ns);
        tell(HEW_STATS_TUNING_lost_ppm, lost < ALL_PPM ? lost : ALL_PPM);
    }
    if (tuning.lever.is_free) {
        bool was_tried = hew_trial_is_tried(&tuning.trial);
        act(hew_trial_step(&tuning.trial, &tuning.lever.rules, &seen), was_tried, now_ms);
    }
}

/* Every arena for which nobody has set a time, those made since among them. */
static void
retime_arenas(uint64_t decay_ms, uint64_t now_ms)
{
    HEW_EACH_ARENA(arena)
    {
        hew_page_retime(&arena->pages, (int64_t)decay_ms, now_ms);
    }
}

static void
tell_decay(uint64_t before, uint64_t after, uint64_t now_ms)
{
    tuning_count(HEW_STATS_TUNING_steps, 1);
    struct hew_stats_step step = {
        .at_ms = now_ms - tuning.began_ms,
        .lever = HEW_STEP_DIRTY_DECAY,
        .outcome = observes() ? HEW_STEP_THOUGHT : HEW_STEP_KEPT,
        .before = before,
        .after = after,
        .held_before = tuning.counters.held,
        .held_after = tuning.counters.held,
    };
    hew_stats_step_add(&step);
    if (!observes()) {
        tuning_count(HEW_STATS_TUNING_kept, 1);
        tell(HEW_STATS_TUNING_dirty_decay_ms, after);
    }
}

/* The program has set a time for arenas made later: what was moved goes back to what it was before, and stays there. */
static void
end_residence(uint64_t now_ms)
{
    tuning.residence_is_free = false;
    if (tuning.residence.position != 0 && !observes()) {
        retime_arenas(tuning.usual_decay_ms, now_ms);
        tell(HEW_STATS_TUNING_dirty_decay_ms, tuning.usual_decay_ms);
    }
}

/* `tells`: no count has fallen, so that what went back and what was taken is all there was. */
static void
step_residence(const struct hew_tuning_counters *window, uint64_t passed_ms, bool tells, uint64_t now_ms)
{
    /* The program may set a time for arenas made later at any moment. */
    if (!tuning.residence_is_free) {
        return;
    }
    if (hew_arena_decay_ms(NULL, HEW_DECAY_DIRTY) != (int64_t)tuning.usual_decay_ms) {
        end_residence(now_ms);
        return;
    }
    struct hew_residence_window seen = {
        .now_ms = now_ms,
        .passed_ms = passed_ms,
        .cpu_ns = window->cpu_ns,
        .returned = window->returned,
        .taken = window->taken,
        .lost_per_page = LOST_PER_PAGE_NS,
        .may_grow = hew_page_bound_is_far(0),
    };
    uint64_t before = tuning.usual_decay_ms << tuning.residence.position;
    bool stepped = tells && hew_residence_step(&tuning.residence, &seen, tuning.usual_decay_ms) != 0;
    uint64_t after = tuning.usual_decay_ms << tuning.residence.position;
    if (stepped) {
        tell_decay(before, after, now_ms);
    }
    if (!observes()) { /* also those made since, and in a fork's child those that the parent had moved */
        retime_arenas(after, now_ms);
    } else if (stepped) {
        hew_residence_forgo(&tuning.residence, tuning.usual_decay_ms);
    }
}

/* How long to wait: longer where the process hardly runs, and where a look took long.  A step that stands unjudged is memory that nobody
 * has agreed to: HEW_TRIAL_LONGEST bounds for how long, so that the looks that come earlier for it are ten, once in a trial. */
static uint64_t
next_wait(const struct hew_tuning_counters *window, uint64_t took_ns)
{
    bool idle = window->cpu_ns < window->at_ms * 1000000 / IDLE_PART;
    uint64_t usual = idle ? (tuning.wait_ms * 2 < IDLE_MS ? tuning.wait_ms * 2 : IDLE_MS) : WINDOW_MS;
    uint64_t least = took_ns / 1000000 * OWN_PART + took_ns % 1000000 * OWN_PART / 1000000;
    uint64_t cpu_ns_per_ms = window->at_ms == 0 ? 0 : window->cpu_ns / window->at_ms;
    uint64_t rarely = cpu_ns_per_ms == 0 ? LONGEST_MS : took_ns * OWN_CPU_PART / cpu_ns_per_ms;
    rarely = rarely < LONGEST_MS ? rarely : LONGEST_MS;
    least = least < rarely ? rarely : least;
    uint64_t wait = usual < least ? least : usual;
    return hew_trial_is_tried(&tuning.trial) && wait > TRIED_MS ? TRIED_MS : wait;
}

static void
tuning_look(uint64_t passed_ms, uint64_t now_ms)
{
    uint64_t began = hew_clock_thread_ns();
    struct hew_tuning_counters now;
    hew_tuning_read(&now);
    struct hew_tuning_counters window = hew_tuning_since(&tuning.counters, &now);
    tuning.counters = now;
    tuning.peak = now.held > tuning.peak ? now.held : tuning.peak;
    tuning.live_peak = now.live > tuning.live_peak ? now.live : tuning.live_peak;
    bool is_sound = !tuning.stopped && !window.has_fallen, works = window.cpu_ns >= window.at_ms * 1000000 / IDLE_PART;
    tuning.stopped = false;
    step_lever(&window, passed_ms, is_sound && works, now_ms);
    step_residence(&window, passed_ms, is_sound, now_ms);
    uint64_t took = hew_clock_thread_ns() - began;
    tuning.wait_ms = next_wait(&window, took);
    tuning_count(HEW_STATS_TUNING_windows, 1);
    tuning_count(HEW_STATS_TUNING_own_ns, took);
}

/* A process that had fallen silent works again, with more room than usual to fill: whoever wakes the purger for that asks here. */
static bool
has_woken(uint64_t since_ms)
{
    return tuning.trial.position > 0 && since_ms >= WINDOW_MS && tuning.wait_ms > WINDOW_MS &&
           hew_clock_process_ns() - tuning.counters.cpu_ns >= since_ms * 1000000 / IDLE_PART;
}

uint64_t
hew_tuning_round(uint64_t now_ms)
{
    if (hew_options.tuning == HEW_TUNING_OFF || hew_options.tuning == HEW_TUNING_ROOM) {
        return 0;
    }
    if (!tuning.begun) {
        tuning_begin(now_ms);
        return tuning.wait_ms;
    }
    uint64_t since = now_ms - tuning.looked_ms;
    if (since < tuning.wait_ms && !has_woken(since)) {
        return tuning.wait_ms - since;
    }
    tuning.looked_ms = now_ms;
    tuning_look(since, now_ms);
    return tuning.wait_ms;
}

void
hew_tuning_stop(void)
{
    if (tuning.begun && hew_trial_is_tried(&tuning.trial)) {
        hew_trial_forgo(&tuning.trial);
        tuning_count(HEW_STATS_TUNING_undone, 1);
        tell_step(HEW_STEP_UNDONE, tuning.looked_ms);
        move(tuning.trial.position);
    }
    tuning.stopped = true;
}

void
hew_tuning_after_fork(void)
{
    hew_stats_tuning_after_fork();
    if (!tuning.begun) {
        return;
    }
    if (tuning.lever.is_free) {
        tuning.lever.move(hew_lever_percent(0));
    }
    tuning.begun = false; /* arenas keep their decay time until the next look */
}

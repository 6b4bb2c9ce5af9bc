/* SPDX-License-Identifier: MIT */
/*
 * trial: losses are compared as parts of the processor time that the process had, so that a program that does more, or gets less of the
 * machine, is not taken for one that a step has helped.
 */
#include "tuning/trial.h"

#include <string.h>

#define SLACK_PERCENT 5u /* a step down may lose so much more than before, */
#define SLACK_PPM 200u   /* and so much of the processor's time: less is not told from noise */
#define LG_REST_RATIO 11u
#define PPM UINT64_C(1000000)
#define PPM_MOST UINT32_C(100000000) /* estimates may be more than all there was */

_Static_assert(HEW_TRIAL_REST_LEAST << LG_REST_RATIO == HEW_TRIAL_REST_MOST, "turns double the rest up to the most");

uint32_t
hew_trial_ppm(uint64_t part, uint64_t whole)
{
    if (part == 0 || whole == 0) {
        return part == 0 ? 0 : PPM_MOST;
    }
    uint64_t ppm = part > UINT64_MAX / PPM ? (whole < PPM ? PPM_MOST : part / (whole / PPM)) : part * PPM / whole;
    return ppm < PPM_MOST ? (uint32_t)ppm : PPM_MOST;
}

void
hew_trial_begin(struct hew_trial *trial)
{
    memset(trial, 0, sizeof *trial);
    trial->rest[0] = HEW_TRIAL_REST_BACK;
    trial->rest[1] = HEW_TRIAL_REST_LEAST;
}

bool
hew_trial_valid(const struct hew_trial *trial, const struct hew_trial_rules *rules)
{
    bool inside = trial->position >= 0 && trial->position <= rules->highest;
    bool rests = trial->rest[0] <= HEW_TRIAL_REST_MOST && trial->rest[1] <= HEW_TRIAL_REST_MOST;
    return inside && rests && trial->rest[0] != 0 && trial->rest[1] != 0;
}

static void
trial_enter(struct hew_trial *trial, enum hew_trial_state state, uint32_t windows)
{
    trial->state = state;
    trial->windows = windows;
    trial->lost_ns = 0;
    trial->cpu_ns = 0;
}

static uint32_t *
rest_of(struct hew_trial *trial, int direction)
{
    return &trial->rest[direction > 0];
}

static void
lengthen(uint32_t *rest)
{
    *rest = *rest >= HEW_TRIAL_REST_MOST / 2 ? HEW_TRIAL_REST_MOST : *rest * 2;
}

/* Something is to be gained by a step up. */
static bool
is_worth(const struct hew_trial *trial, const struct hew_trial_rules *rules, const struct hew_trial_window *window)
{
    return trial->position < rules->highest && window->may_gain && window->may_spend != 0 &&
           trial->windows >= trial->rest[1] && hew_trial_ppm(window->lost_ns, window->cpu_ns) >= rules->worth_ppm;
}

/* The direction that is due, 0: none.  Up where there is something to gain, down where a position is held. */
static int
direction_due(const struct hew_trial *trial, const struct hew_trial_rules *rules, const struct hew_trial_window *window)
{
    if (is_worth(trial, rules, window)) {
        return 1;
    }
    return trial->position > 0 && trial->windows >= trial->rest[0] ? -1 : 0;
}

/* The first of the windows before a step counts as well. */
static void
watch(struct hew_trial *trial, int direction)
{
    trial->direction = direction;
    trial->since = 0;
    trial_enter(trial, HEW_TRIAL_WATCHES, HEW_TRIAL_BEFORE);
}

/* The step, unless the loss that was its reason has passed by itself. */
static enum hew_trial_outcome
trial_try(struct hew_trial *trial, const struct hew_trial_rules *rules)
{
    trial->before_ppm = hew_trial_ppm(trial->lost_ns, trial->cpu_ns);
    if (trial->direction > 0 && trial->before_ppm < rules->worth_ppm) {
        trial_enter(trial, HEW_TRIAL_RESTS, 0);
        return HEW_TRIAL_NOTHING;
    }
    trial->position += trial->direction;
    trial->held_after = 0;
    trial_enter(trial, HEW_TRIAL_SETTLES, HEW_TRIAL_SETTLE);
    return HEW_TRIAL_BEGUN;
}

/* Losses are estimated from what each batch costs on average.  Where that comes to more than all the time there was, the costs are too
 * high, by as much before the step as after it: what was lost more is called all. */
static void
bring_below_all(struct hew_trial *trial)
{
    uint64_t more = trial->before_ppm > trial->after_ppm ? trial->before_ppm : trial->after_ppm;
    if (more > PPM) {
        trial->before_ppm = (uint32_t)(trial->before_ppm * PPM / more);
        trial->after_ppm = (uint32_t)(trial->after_ppm * PPM / more);
    }
}

static bool
has_paid(const struct hew_trial *trial, const struct hew_trial_rules *rules)
{
    uint64_t before = trial->before_ppm, after = trial->after_ppm;
    if (trial->direction > 0) {
        uint64_t saved = before > after ? before - after : 0;
        return saved >= rules->worth_ppm && saved * 100 >= before * rules->gain_percent;
    }
    return after <= before + before * SLACK_PERCENT / 100 + SLACK_PPM;
}

/* Both rests begin anew, the longer the more often the direction has changed. */
static void
keep(struct hew_trial *trial)
{
    trial->turns += trial->kept_direction == -trial->direction;
    uint32_t doublings = trial->turns < LG_REST_RATIO ? trial->turns : LG_REST_RATIO;
    uint32_t least = HEW_TRIAL_REST_LEAST << doublings,
             back = HEW_TRIAL_REST_BACK > least ? HEW_TRIAL_REST_BACK : least;
    uint32_t *other = rest_of(trial, -trial->direction), other_least = trial->direction > 0 ? back : least;
    *rest_of(trial, trial->direction) = least;
    *other = *other < other_least ? other_least : *other;
    trial->kept_direction = trial->direction;
}

void
hew_trial_forgo(struct hew_trial *trial)
{
    trial->position -= trial->direction;
    lengthen(rest_of(trial, trial->direction));
    trial_enter(trial, HEW_TRIAL_RESTS, 0);
}

/* A step that takes too much is not seen to its end. */
static bool
is_costly(const struct hew_trial *trial, const struct hew_trial_window *window)
{
    return trial->direction > 0 && hew_trial_added(trial) > window->may_spend;
}

static void
note_kept(struct hew_trial *trial)
{
    trial->held_kept = trial->held_after > trial->held_before ? trial->held_after : trial->held_before;
    trial->live_kept = trial->live_before;
}

static enum hew_trial_outcome
judge(struct hew_trial *trial, const struct hew_trial_rules *rules, const struct hew_trial_window *window)
{
    trial->after_ppm = trial->cpu_ns == 0 ? trial->before_ppm : hew_trial_ppm(trial->lost_ns, trial->cpu_ns);
    bring_below_all(trial);
    bool costly = is_costly(trial, window), paid = !costly && has_paid(trial, rules);
    if (paid) {
        keep(trial);
        note_kept(trial);
        trial_enter(trial, HEW_TRIAL_RESTS, 0);
    } else {
        hew_trial_forgo(trial);
    }
    return paid ? HEW_TRIAL_KEPT : costly ? HEW_TRIAL_COSTLY : HEW_TRIAL_UNDONE;
}

/* What the heaps hold, but for what the program holds more than `live`. */
static uint64_t
held_without_growth(const struct hew_trial_window *window, uint64_t live)
{
    uint64_t grown = window->live > live ? window->live - live : 0;
    return window->held > grown ? window->held - grown : 0;
}

/* The position but for a step that is being tried. */
static int
position_kept(const struct hew_trial *trial)
{
    return trial->position - (hew_trial_is_tried(trial) ? trial->direction : 0);
}

static bool
has_outgrown(const struct hew_trial *trial, const struct hew_trial_window *window)
{
    uint64_t held = held_without_growth(window, trial->live_kept);
    return position_kept(trial) > 0 && held > trial->held_kept && held - trial->held_kept > window->budget;
}

/* One step back; the rest of them follow while that is so. */
static enum hew_trial_outcome
give_back(struct hew_trial *trial, const struct hew_trial_window *window)
{
    trial->position = position_kept(trial);
    trial->direction = 1; /* of the step that is undone */
    trial->held_before = trial->held_kept;
    trial->held_after = held_without_growth(window, trial->live_kept);
    hew_trial_forgo(trial);
    return HEW_TRIAL_OUTGROWN;
}

/* Too much time has passed for what came before to be compared with what comes now. */
static enum hew_trial_outcome
abandon(struct hew_trial *trial)
{
    if (!hew_trial_is_tried(trial)) {
        trial_enter(trial, HEW_TRIAL_RESTS, 0);
        return HEW_TRIAL_NOTHING;
    }
    trial->after_ppm = trial->before_ppm;
    bring_below_all(trial);
    hew_trial_forgo(trial);
    return HEW_TRIAL_UNDONE;
}

static uint32_t
sum_up_to(uint32_t sum, uint32_t more, uint32_t most)
{
    return more < most - sum ? sum + more : most;
}

static void
note_memory(struct hew_trial *trial, const struct hew_trial_window *window)
{
    if (!hew_trial_is_tried(trial)) {
        trial->held_before = window->peak;
        trial->live_before = window->live_peak;
    }
    uint64_t held = held_without_growth(window, trial->live_before);
    trial->held_after = held > trial->held_after ? held : trial->held_after;
}

static bool
count_down(struct hew_trial *trial, const struct hew_trial_window *window)
{
    trial->lost_ns += window->lost_ns;
    trial->cpu_ns += window->cpu_ns;
    trial->windows -= trial->windows < window->lasted ? trial->windows : window->lasted;
    return trial->windows == 0;
}

static enum hew_trial_outcome
go_on(struct hew_trial *trial, const struct hew_trial_rules *rules, const struct hew_trial_window *window)
{
    note_memory(trial, window);
    trial->since = sum_up_to(trial->since, window->lasted, HEW_TRIAL_LONGEST + 1);
    bool over = window->tells && count_down(trial, window);
    if (hew_trial_is_tried(trial) && is_costly(trial, window)) {
        return judge(trial, rules, window);
    }
    if (!over) {
        return trial->since > HEW_TRIAL_LONGEST ? abandon(trial) : HEW_TRIAL_NOTHING;
    }
    if (trial->state == HEW_TRIAL_WATCHES) {
        return trial_try(trial, rules);
    }
    if (trial->state == HEW_TRIAL_JUDGES) {
        return judge(trial, rules, window);
    }
    trial_enter(trial, HEW_TRIAL_JUDGES, HEW_TRIAL_AFTER);
    return HEW_TRIAL_NOTHING;
}

enum hew_trial_outcome
hew_trial_step(struct hew_trial *trial, const struct hew_trial_rules *rules, const struct hew_trial_window *window)
{
    HEW_ASSERT(1, hew_trial_valid(trial, rules));
    if (has_outgrown(trial, window)) {
        return give_back(trial, window);
    }
    if (!hew_trial_rests(trial)) {
        return go_on(trial, rules, window);
    }
    if (window->tells) {
        trial->windows = sum_up_to(trial->windows, window->lasted, HEW_TRIAL_REST_MOST);
        int direction = direction_due(trial, rules, window);
        if (direction != 0) {
            watch(trial, direction);
        }
    }
    return HEW_TRIAL_NOTHING;
}

/* SPDX-License-Identifier: MIT */
/*
 * trial: one lever moved by steps that have to prove themselves.
 *
 * A lever has positions, 0 the usual one.  At rest it is left alone; then one step is tried: what was lost before it is compared with
 * what is lost after it, once things have settled.  A step up stays if it saves enough for what it costs in memory, a step
 * down, which gives memory back, if it loses next to nothing.  All else is undone.
 *
 * Owns      the decision.  Pure arithmetic on windows of counters: no clock, no lock, no system call.
 * Promises  what a step costs is what the heaps hold on top of their peak, but for what the program itself holds on top of its own: its
 *           growth neither refuses a step nor lets one pass.
 *           What stays is bounded: a position above the usual is left, also amid a trial, when by that reckoning the heaps hold more
 *           than they did when it stayed, by more than the budget.
 *           A step stands unjudged for HEW_TRIAL_LONGEST windows at most; what cannot be judged by then is undone.
 *           Nothing oscillates: each undone step doubles the rest before the next in that direction, each turn in direction doubles
 *           both rests, up to HEW_TRIAL_REST_MOST windows; so in n windows there are at most log2(HEW_TRIAL_REST_MOST) +
 *           n / HEW_TRIAL_REST_MOST turns that stay, whatever the windows say.  The position stays within its bounds.
 * Called    by the purger's thread.
 * Not here  what a window holds: window.h.  What a position means: lever_depot.c.
 * Why       docs/decisions/0074-tuning.md.
 */
#ifndef HEW_TUNING_TRIAL_H
#define HEW_TUNING_TRIAL_H

#include "base/compiler.h"

#define HEW_TRIAL_REST_LEAST 4u   /* windows before another step in a direction that has paid, */
#define HEW_TRIAL_REST_BACK 64u   /* before the first try of a step down, */
#define HEW_TRIAL_REST_MOST 8192u /* and the most before any */
#define HEW_TRIAL_BEFORE 2u       /* windows that tell what was, */
#define HEW_TRIAL_SETTLE 1u       /* that are let pass after a step, */
#define HEW_TRIAL_AFTER 2u        /* and that tell what has become */
#define HEW_TRIAL_LONGEST 200u    /* windows that all of this may take, those that tell nothing among them */

/* What one window tells a lever. */
struct hew_trial_window {
    uint64_t lost_ns;   /* estimated time that the program has lost where the lever could help */
    uint64_t cpu_ns;    /* processor time of the process */
    uint64_t held;      /* bytes that the heaps hold now, */
    uint64_t peak;      /* and the most that they ever held; */
    uint64_t live;      /* of those now the program's, */
    uint64_t live_peak; /* and the most that ever were */
    uint64_t may_spend; /* bytes that a step may add to the peak: without any none is tried */
    uint64_t budget;    /* bytes that all steps together may add */
    bool may_gain;      /* something says that a step up could help */
    bool tells;         /* times are to be believed: else this window tells of memory alone */
    uint32_t lasted; /* usual windows that it has lasted: more than one where the purger had to wait for a processor */
};

/* What a lever is like. */
struct hew_trial_rules {
    int highest;           /* its positions are 0 to that */
    uint32_t worth_ppm;    /* of the processor's time: who loses less is left alone, and a step up must save that */
    uint32_t gain_percent; /* of what is lost: a step up must save that as well */
};

enum hew_trial_state { HEW_TRIAL_RESTS, HEW_TRIAL_WATCHES, HEW_TRIAL_SETTLES, HEW_TRIAL_JUDGES };

enum hew_trial_outcome {
    HEW_TRIAL_NOTHING,
    HEW_TRIAL_BEGUN,    /* the position has changed, for a while */
    HEW_TRIAL_KEPT,     /* it stays */
    HEW_TRIAL_UNDONE,   /* it is as before: too little was saved, or nobody could tell, */
    HEW_TRIAL_COSTLY,   /* or it took more memory than it may */
    HEW_TRIAL_OUTGROWN, /* one that had stayed goes back, with one that was being tried: the budget is outgrown */
};

struct hew_trial {
    int position;
    int direction;      /* of the step that is being tried, or was last: 1 or -1 */
    int kept_direction; /* of the last one that stayed; 0: none has */
    enum hew_trial_state state;
    uint32_t windows;               /* left in this state; while it rests: since it began to */
    uint32_t since;                 /* windows since it began to watch */
    uint32_t rest[2];               /* windows to rest before a step down, up */
    uint32_t turns;                 /* times that the direction of what stayed has changed */
    uint64_t lost_ns, cpu_ns;       /* of the windows of this state */
    uint32_t before_ppm, after_ppm; /* of the last trial; once it is judged neither is more than a million */
    uint64_t held_before,
        held_after;       /* the peak before the last trial; the most during it, but for the program's growth */
    uint64_t live_before; /* the most that was ever the program's, before the last trial */
    uint64_t held_kept, live_kept; /* likewise when a step last stayed: what has been agreed to */
};

void hew_trial_begin(struct hew_trial *trial);

/* One window more.  With HEW_TRIAL_BEGUN, _UNDONE, _COSTLY and _OUTGROWN the caller moves the lever to ->position. */
enum hew_trial_outcome hew_trial_step(struct hew_trial *trial, const struct hew_trial_rules *rules,
                                      const struct hew_trial_window *window);

/* Bytes that the last trial added to the peak. */
HEW_INLINE uint64_t
hew_trial_added(const struct hew_trial *trial)
{
    return trial->held_after > trial->held_before ? trial->held_after - trial->held_before : 0;
}

/* A step that has begun was only thought: back at once, to rest as after one that was undone. */
void hew_trial_forgo(struct hew_trial *trial);

/* Nothing is tried at present. */
HEW_INLINE bool
hew_trial_rests(const struct hew_trial *trial)
{
    return trial->state == HEW_TRIAL_RESTS;
}

/* A step has been made, and nobody has judged it yet. */
HEW_INLINE bool
hew_trial_is_tried(const struct hew_trial *trial)
{
    return trial->state == HEW_TRIAL_SETTLES || trial->state == HEW_TRIAL_JUDGES;
}

bool hew_trial_valid(const struct hew_trial *trial, const struct hew_trial_rules *rules);

/* Millionths that `part` is of `whole`, which estimates may exceed: 100 times at most. */
uint32_t hew_trial_ppm(uint64_t part, uint64_t whole);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * trial: one lever moved by steps that have to prove themselves.
 *
 * A lever has positions, 0 the usual one.  At rest it is left alone; then one step is tried: what was lost before it is compared with
 * what is lost after it, once things have settled.  A step up stays if it saves enough for what it costs in memory, a step
 * down, which gives memory back, if it loses next to nothing.  All else is undone.
 *
 * Owns      the decision.  Pure arithmetic on windows of counters: no clock, no lock, no system call.
 * Promises  what stays is bounded: a position above the usual is left at once when the heaps hold more than they did when it
 *           stayed and the budget; whose memory that is cannot be told.
 *           Nothing oscillates: each undone step doubles the rest before the next in that direction, each turn in direction doubles
 *           both rests, up to HEW_TRIAL_REST_MOST windows; so in n windows there are at most log2(HEW_TRIAL_REST_MOST) +
 *           n / HEW_TRIAL_REST_MOST turns that stay, whatever the windows say.  The position stays within its bounds.
 * Called    by the purger's thread.
 * Not here  what a window holds: window.h.  What a position means: lever_*.c.
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

/* What one window tells a lever. */
struct hew_trial_window {
    uint64_t lost_ns;   /* estimated time that the program has lost where the lever could help */
    uint64_t cpu_ns;    /* processor time of the process */
    uint64_t held;      /* bytes that the heaps hold now, */
    uint64_t peak;      /* the most that they ever held, */
    uint64_t may_spend; /* and bytes that a step may add to that: without any none is tried */
    uint64_t budget;    /* bytes that all steps together may add */
    bool may_gain;      /* something says that a step up could help */
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
    HEW_TRIAL_UNDONE,   /* it is as before: too little was saved, */
    HEW_TRIAL_COSTLY,   /* or it took more memory than it may */
    HEW_TRIAL_OUTGROWN, /* it had stayed, and the heaps have grown beyond the budget since: it is as before */
};

struct hew_trial {
    int position;
    int direction;      /* of the step that is being tried, or was last: 1 or -1 */
    int kept_direction; /* of the last one that stayed; 0: none has */
    enum hew_trial_state state;
    uint32_t windows;                 /* left in this state; while it rests: since it began to */
    uint32_t rest[2];                 /* windows to rest before a step down, up */
    uint32_t turns;                   /* times that the direction of what stayed has changed */
    uint64_t lost_ns, cpu_ns;         /* of the windows of this state */
    uint32_t before_ppm, after_ppm;   /* of the last trial */
    uint64_t held_before, held_after; /* the peak before the last trial, and the most during it */
    uint64_t held_kept;               /* the larger of the two when a step last stayed */
};

void hew_trial_begin(struct hew_trial *trial);

/*
 * One window more.  `may_begin`: no other lever that the same loss is read from is at it.  With HEW_TRIAL_BEGUN, _UNDONE, _COSTLY
 * and _OUTGROWN the caller moves the lever to ->position.
 */
enum hew_trial_outcome hew_trial_step(struct hew_trial *trial, const struct hew_trial_rules *rules,
                                      const struct hew_trial_window *window, bool may_begin);

/* Bytes that the last trial added to the peak. */
HEW_INLINE uint64_t
hew_trial_added(const struct hew_trial *trial)
{
    return trial->held_after > trial->held_before ? trial->held_after - trial->held_before : 0;
}

/* A step that has begun was only thought: back at once, to rest as after one that was undone. */
void hew_trial_forgo(struct hew_trial *trial);

/* Nothing is tried at present: another lever may. */
HEW_INLINE bool
hew_trial_rests(const struct hew_trial *trial)
{
    return trial->state == HEW_TRIAL_RESTS;
}

bool hew_trial_valid(const struct hew_trial *trial, const struct hew_trial_rules *rules);

/* Millionths that `part` is of `whole`, which estimates may exceed: 100 times at most. */
uint32_t hew_trial_ppm(uint64_t part, uint64_t whole);

#endif

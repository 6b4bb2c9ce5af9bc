/* SPDX-License-Identifier: MIT */
/*
 * steps: the last steps of what tunes itself, with their reason and what they were measured to do.
 *
 * Owns      for each lever a ring of its last HEW_STEPS_KEPT steps.
 * Promises  told by any thread at any time, without a lock, an allocation or a system call.  A step that is overwritten while it is read
 *           is left out; of two that are told into one place at once, which takes HEW_STEPS_KEPT others in between, one is lost.
 * Not here  who decides: cache/share.h, tuning/controller.h.  Who shows them: stats/tuning.h.
 */
#ifndef HEW_BASE_STEPS_H
#define HEW_BASE_STEPS_H

#include "base/compiler.h"

#define HEW_STEPS_KEPT 16u

/* What may be moved, in the words of the settings:
 *   cache_room      one thread's share, in percent of the usual one.  Reason: misses in a million operations.  Effect: picoseconds of an
 *                   operation, with all that the program does between two;
 *   dirty_decay_ms  the time.  Reason: of the pages that went back, millionths that were wanted again within as long.  Effect: of the
 *                   pages that were wanted and had been there before, millionths that had gone back;
 *   depot_room      of all depots, in percent of the usual one.  Reason: none, it is a verdict on room that they have.  Effect:
 *                   picoseconds of the process's time for an operation, with the usual room and with more. */
enum hew_step_lever { HEW_STEP_CACHE_ROOM, HEW_STEP_DIRTY_DECAY, HEW_STEP_DEPOT_ROOM, HEW_STEP_LEVERS };

enum hew_step_outcome {
    HEW_STEP_TRIED, /* and not judged yet */
    HEW_STEP_KEPT,
    HEW_STEP_UNDONE,
    HEW_STEP_THOUGHT, /* nothing was moved: `tuning:observe` */
    HEW_STEP_OUTCOMES
};

struct hew_step {
    uint64_t at_ms; /* by the monotonic clock */
    uint64_t lever, outcome;
    uint64_t before, after; /* of the setting */
    uint64_t reason_before, reason_after;
    uint64_t effect_before, effect_after; /* what is after is 0 while nobody knows */
};

void hew_steps_tell(const struct hew_step *step);

/* The steps of all levers in order of time; returns how many. */
unsigned hew_steps_read(struct hew_step steps[HEW_STEP_LEVERS * HEW_STEPS_KEPT]);

/* In a fork's child: the steps were its parent's. */
void hew_steps_forget(void);

/* The setting's name, and the word for an outcome. */
const char *hew_step_lever_name(uint64_t lever);
const char *hew_step_outcome_name(uint64_t outcome);

#endif

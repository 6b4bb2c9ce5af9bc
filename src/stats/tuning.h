/* SPDX-License-Identifier: MIT */
/*
 * tuning: what the controller has done, for reports and mallctl: numbers, and the last steps.
 *
 * Owns      a ring of steps; numbers, all relaxed and written by the purger's thread alone.
 * Locks     hew_stats_lock guards the ring; taken inside.
 * Not here  who decides: tuning/controller.h.
 */
#ifndef HEW_STATS_TUNING_H
#define HEW_STATS_TUNING_H

#include "stats/fields.h"

#include <stdatomic.h>

#define HEW_STATS_STEPS 32u /* that the ring holds */

enum hew_stats_tuning_number {
#define HEW_STATS_TUNING(name, type, what) HEW_STATS_TUNING_##name,
#include "stats/tuning.def"
    HEW_STATS_TUNING_NUMBERS
};

/* In the order of the table.  What is in force reads as the settings until the controller has begun. */
extern _Atomic uint64_t hew_stats_tuning[HEW_STATS_TUNING_NUMBERS];

enum hew_step_lever { HEW_STEP_DEPOT_ROOM, HEW_STEP_DIRTY_DECAY, HEW_STEP_LEVERS };
enum hew_step_outcome {
    HEW_STEP_TRIED,
    HEW_STEP_KEPT,
    HEW_STEP_UNDONE,
    HEW_STEP_COSTLY,
    HEW_STEP_OUTGROWN,
    HEW_STEP_THOUGHT
};

struct hew_stats_step {
    uint64_t at_ms; /* since the controller began */
    enum hew_step_lever lever;
    enum hew_step_outcome outcome;
    uint64_t before, after;           /* of the setting */
    uint32_t lost_before, lost_after; /* millionths of the processor time; after: 0 while nobody knows */
    uint64_t held_before, held_after; /* bytes that the heaps held at their peak before, and at most during the trial */
};

/* By the purger's thread, without locks: a step is added; or the newest of that lever, which was being tried, has this outcome now. */
void hew_stats_step_add(const struct hew_stats_step *step);

/* The steps, the oldest first; returns how many. */
unsigned hew_stats_steps(struct hew_stats_step steps[HEW_STATS_STEPS]);

/* The numbers; for what is in force the settings, until the controller has begun. */
struct hew_stats_tuned hew_stats_tuned(void);

/* In a fork's child: neither the numbers nor the steps are those of its parent. */
void hew_stats_tuning_after_fork(void);

/* The setting's name, and the word for an outcome. */
const char *hew_step_lever_name(enum hew_step_lever lever);
const char *hew_step_outcome_name(enum hew_step_outcome outcome);

#endif

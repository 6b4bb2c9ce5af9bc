/* SPDX-License-Identifier: MIT */
/*
 * lever: what the controller may move by trials: lever_depot.c.
 *
 * That file says what the lever reads, what it moves, what that costs, between which bounds, and how it goes back.
 * Called    by the purger's thread, without any lock of ours.
 * Not here  dirty_decay_ms, which shows its effect after minutes: residence.h.
 */
#ifndef HEW_TUNING_LEVER_H
#define HEW_TUNING_LEVER_H

#include "stats/tuning.h"
#include "tuning/trial.h"
#include "tuning/window.h"

struct hew_lever {
    enum hew_step_lever step;
    enum hew_stats_tuning_number number;
    bool is_free; /* the user has not set it, and nothing else forbids to move it */
    struct hew_trial_rules rules;
    void (*move)(unsigned percent);
    bool (*may_gain)(const struct hew_tuning_counters *window);
};

/* Made when the controller begins: a table of pointers would cost every process relocations. */
struct hew_lever hew_lever_depot(void);

/* The setting at a position, in percent. */
HEW_INLINE unsigned
hew_lever_percent(int position)
{
    return 100u << position;
}

#endif

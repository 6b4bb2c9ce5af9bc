/* SPDX-License-Identifier: MIT */
/*
 * windows: keeps the threads of a replay near each other: a batch begins when all windows but its own and the one before have ended.
 *
 * Promises  whoever waits sleeps after a while; a thread's last word in one window happens before anybody's first in the second after it.
 */
#ifndef HEW_TRACE_REPLAY_WINDOWS_H
#define HEW_TRACE_REPLAY_WINDOWS_H

#include "replay/plan.h"

struct hew_windows {
    uint32_t *ended; /* by window: batches that have ended */
    uint32_t low;    /* windows that have ended, all before one that has not */
    uint32_t sleeping;
    uint32_t count;
    uint32_t batches;
    uint32_t last_batches;
    bool alone; /* one thread: it waits for nobody */
};

bool hew_windows_begin(struct hew_windows *windows, const struct hew_plan *plan);
void hew_windows_wait(struct hew_windows *windows, uint32_t window);
void hew_windows_ended(struct hew_windows *windows, uint32_t window);

/* A little later each round: the processor's pause, then others' turn. */
void hew_windows_pause(unsigned round);

#endif

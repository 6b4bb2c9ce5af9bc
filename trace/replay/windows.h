/* SPDX-License-Identifier: MIT */
/*
 * windows: limits how far the threads of a replay drift apart: a batch begins when all windows except its own and the
 * one before it have ended.
 *
 * Promises  a waiting thread eventually sleeps; a thread's last access in one window happens before any thread's first
 *           access in the second window after it.
 */
#ifndef HEW_TRACE_REPLAY_WINDOWS_H
#define HEW_TRACE_REPLAY_WINDOWS_H

#include "replay/plan.h"

struct hew_windows {
    uint32_t *ended; /* by window: batches that have ended */
    uint32_t low;    /* number of leading windows that have all ended */
    uint32_t sleeping;
    uint32_t count;
    uint32_t batches;
    uint32_t last_batches;
    bool alone; /* one thread: it never waits */
};

bool hew_windows_begin(struct hew_windows *windows, const struct hew_plan *plan);
void hew_windows_wait(struct hew_windows *windows, uint32_t window);
void hew_windows_ended(struct hew_windows *windows, uint32_t window);

/* Waits a little longer each round: first the processor's pause, then a yield to other threads. */
void hew_windows_pause(unsigned round);

#endif

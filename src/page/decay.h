/* SPDX-License-Identifier: MIT */
/*
 * decay: how many idle bytes a stock may still hold, as time passes.
 *
 * Owns      the curve and its epochs.  Pure arithmetic: `now` is an argument; nothing here reads a clock, takes a lock
 *           or calls the system.
 * Promises  the allowance never rises while nothing is returned, and is 0 once decay_ms has passed.  Memory that the
 *           system refused to take back counts as newly come.
 * Called    under the owning page heap's lock.
 * Not here  what to purge: heap.c.  When to look: control/purger.c.
 * Why       a smooth curve: a burst's memory goes back steadily, not in one stall, and what is used again soon is
 *           mostly still there.
 */
#ifndef HEW_PAGE_DECAY_H
#define HEW_PAGE_DECAY_H

#include "base/compiler.h"

#define HEW_DECAY_EPOCHS 32

struct hew_decay {
    int64_t decay_ms;                 /* -1 never, 0 at once */
    uint64_t epoch_ms;                /* when the current epoch began */
    size_t backlog[HEW_DECAY_EPOCHS]; /* bytes that came in each past epoch, the newest last */
    size_t left;                      /* bytes in the stock when the epoch began */
    size_t put_off;                   /* bytes that were due, and which the caller keeps a while: not new either */
};

void hew_decay_begin(struct hew_decay *decay, int64_t decay_ms, uint64_t now_ms);

/* The bytes that a stock which holds `bytes` now may keep. */
size_t hew_decay_allowance(struct hew_decay *decay, size_t bytes, uint64_t now_ms);

/* False: no epoch has passed, so the stock may keep what it might keep when that was asked last, and what came since. */
bool hew_decay_is_due(const struct hew_decay *decay, size_t bytes, uint64_t now_ms);

/* Milliseconds in an epoch, at least 1. */
uint64_t hew_decay_step_ms(const struct hew_decay *decay);

#endif

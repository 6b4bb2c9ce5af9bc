/* SPDX-License-Identifier: MIT */
/*
 * decay: how many idle bytes a free list may still hold, as time passes.
 *
 * Owns      the curve and its epochs.  Pure arithmetic: `now` is an argument; nothing here reads a clock, takes a lock
 *           or calls the system.
 * Promises  the allowance never rises while no memory is freed, and is 0 once decay_ms has passed.  Memory that the
 *           system refused to take back counts as newly freed.
 * Called    under the owning page heap's lock.
 * Not here  what to purge: purge.c.  When to purge: control/purger.c.
 * Why       a smooth curve returns a burst's memory steadily, not in one stall.  Memory that is soon reused is mostly
 *           still resident.
 */
#ifndef HEW_PAGE_DECAY_H
#define HEW_PAGE_DECAY_H

#include "base/compiler.h"

#define HEW_DECAY_EPOCHS 32

struct hew_decay {
    int64_t decay_ms;                 /* -1: never, 0: immediately */
    uint64_t epoch_ms;                /* when the current epoch began */
    size_t backlog[HEW_DECAY_EPOCHS]; /* bytes freed in each past epoch, the newest last */
    size_t left;                      /* bytes in the free list when the epoch began */
    size_t put_off; /* bytes that are due but that the caller keeps for now: they are not new either */
};

void hew_decay_begin(struct hew_decay *decay, int64_t decay_ms, uint64_t now_ms);

/* Returns how many of the `bytes` it holds now the free list may keep. */
size_t hew_decay_allowance(struct hew_decay *decay, size_t bytes, uint64_t now_ms);

/* Returns false if no epoch has passed: the free list may keep its last allowance plus what arrived since. */
bool hew_decay_is_due(const struct hew_decay *decay, size_t bytes, uint64_t now_ms);

/* Milliseconds per epoch, at least 1. */
uint64_t hew_decay_step_ms(const struct hew_decay *decay);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * residence: how long dirty pages stay, by what is wanted again of those that went back.
 *
 * Reads     bytes that went back to the system, and bytes that were taken of it soon after (refaults.h).
 * Moves     the dirty decay time of arenas for which nobody has set one; under each page heap's lock: hew_page_retime().
 * Price     idle memory stays twice as long for each step.  The peak stays: it had these pages.
 * Bounds    the setting to 8 times it; no step near a limit of memory.
 * Goes back when little of what goes back is wanted again; each turn doubles the rest before the next step.
 * Set by the user  dirty_decay_ms; a time of 0 or -1 is nobody's to change.
 *
 * A step shows its effect after as long as memory stays, so it is not tried: the ledger says what it would have saved.  Pure
 * arithmetic: no clock, no lock, no system call.
 */
#ifndef HEW_TUNING_RESIDENCE_H
#define HEW_TUNING_RESIDENCE_H

#include "tuning/refaults.h"

#define HEW_RESIDENCE_HIGHEST 3

struct hew_residence {
    int position;       /* the time is the setting times 2^position */
    int last_direction; /* of the last step; 0: none yet */
    unsigned turns;     /* times that the direction has changed, or that a step was only thought */
    uint64_t rest_ms;   /* before the next step */
    struct hew_refaults refaults;
    uint64_t returned,
        soon;        /* bytes that went back, and those of them that were wanted within one time more; of late */
    uint64_t cpu_ns; /* of late */
};

/* What has come in the `passed_ms` up to `now_ms`. */
struct hew_residence_window {
    uint64_t now_ms, passed_ms, cpu_ns;
    uint64_t returned, taken; /* bytes */
    uint64_t lost_per_page;   /* nanoseconds that one wanted again costs */
    bool may_grow;            /* no limit of memory is near */
};

/* The direction of a step that was made: 1 longer, -1 shorter, 0 none.  `usual_ms`: the setting, above 0. */
int hew_residence_step(struct hew_residence *residence, const struct hew_residence_window *window, uint64_t usual_ms);

/* A step that was made was only thought: back at once.  The rest before the next is twice as long each time. */
void hew_residence_forgo(struct hew_residence *residence, uint64_t usual_ms);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * residence: how long dirty pages stay, by what is wanted again of those that went back.
 *
 * Reads     bytes that went back to the system, and bytes that were taken of it soon after (refaults.h).
 * Moves     the dirty decay time of arenas for which nobody has set one; under each page heap's lock: hew_page_retime().
 * Price     idle memory stays four times as long for each step.  The peak stays: it had these pages.
 * Bounds    the setting to 16 times it; no step near a limit of memory.
 * Reason    half of what goes back is wanted again before as much time has passed once more.  Four times as long, and the decay's curve
 *           has let go of half of it at most by then; twice as long would change little.
 * Goes back where it does not pay: after a step up one time passes, so that what went back by the old one is through; then, for two
 *           more and until the process has wanted as much, it is measured which part of the pages that it wants and had before had gone
 *           back, however long ago.  The step stays if that part is a quarter less than before.  One that stayed goes back when little of
 *           what goes back is wanted again.
 * Promises  nothing oscillates: each step that was undone and each turn doubles the rest before the next step, up to 1,024 times.
 * Set by the user  dirty_decay_ms; a time of 0 or -1 is nobody's to change.
 *
 * Pure arithmetic: no clock, no lock, no system call.
 */
#ifndef HEW_TUNING_RESIDENCE_H
#define HEW_TUNING_RESIDENCE_H

#include "tuning/refaults.h"

#define HEW_RESIDENCE_HIGHEST 2
#define HEW_RESIDENCE_STEP_LG 2u /* of the factor of one step */

enum hew_residence_state { HEW_RESIDENCE_RESTS, HEW_RESIDENCE_SETTLES, HEW_RESIDENCE_JUDGES };

enum hew_residence_outcome {
    HEW_RESIDENCE_NOTHING,
    HEW_RESIDENCE_TRIED,  /* the time is longer by a step, for a while */
    HEW_RESIDENCE_KEPT,   /* and stays so */
    HEW_RESIDENCE_UNDONE, /* and is as before: it did not pay */
    HEW_RESIDENCE_BACK,   /* the time is shorter by a step: it was no longer needed */
};

struct hew_residence {
    int position; /* steps above the setting */
    enum hew_residence_state state;
    int last_direction; /* of the last step; 0: none yet */
    unsigned turns;     /* times that the direction has changed, or that a step was undone */
    uint64_t left_ms;   /* of this state */
    struct hew_refaults refaults;
    /* Of late: bytes that went back; bytes that were wanted and that the process had had before; of these, those that had gone back, and
     * those that had gone within one time more; and the processor time of the whole process. */
    uint64_t returned, wanted, again, soon, cpu_ns;
    uint64_t wanted_before; /* at the last step */
    uint32_t soon_ppm[2],
        again_ppm[2]; /* of what went back, and of what was wanted: before the last step, and after it */
};

/* What has come in the `passed_ms` up to `now_ms`. */
struct hew_residence_window {
    uint64_t now_ms, passed_ms, cpu_ns;
    uint64_t returned, taken, fresh; /* bytes; those of the taken ones that had no memory */
    uint64_t lost_per_page;          /* nanoseconds that one wanted again costs */
    bool may_grow;                   /* no limit of memory is near */
};

/* One window more.  `usual_ms`: the setting, above 0.  But for NOTHING and KEPT the caller moves the time. */
enum hew_residence_outcome hew_residence_step(struct hew_residence *residence,
                                              const struct hew_residence_window *window, uint64_t usual_ms);

/* A step that was made was only thought: back at once, to rest as after one that was undone. */
void hew_residence_forgo(struct hew_residence *residence, uint64_t usual_ms);

/* The time in force. */
HEW_INLINE uint64_t
hew_residence_time(const struct hew_residence *residence, uint64_t usual_ms)
{
    return usual_ms << ((unsigned)residence->position * HEW_RESIDENCE_STEP_LG);
}

/* A step has been made, and nobody has judged it yet. */
HEW_INLINE bool
hew_residence_is_tried(const struct hew_residence *residence)
{
    return residence->state != HEW_RESIDENCE_RESTS;
}

/* Millionths that `part` is of `whole`: a million at most. */
uint32_t hew_residence_ppm(uint64_t part, uint64_t whole);

#endif

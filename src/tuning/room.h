/* SPDX-License-Identifier: MIT */
/*
 * room: whether the room beyond the usual that depots have makes the program faster.
 *
 * Reads     processor time of the process, and operations of all its threads (cache/work.h), in windows of 250 ms.
 * Moves     nothing by itself: the caller allows or denies depots that room, hew_ghost_permit().
 * Price     a trial is a second without the room, and 1.25 s with it: of the first five, and of 258 in the end.
 * Reason    room keeps threads off their arenas' locks, and that is most often a gain; but makers that no longer wait for memory fill
 *           their channels, and what goes round through depots lies side by side no longer.  Which of them counts for more only
 *           the program's own pace tells.
 * Goes back where an operation takes more processor time with the room than without it: 2 % in the middle of four pairs of windows, and
 *           in three of them at least.  Room that is asked for by threads that make for others (cache/ghost.h) is not there before the
 *           same windows have shown that an operation takes so much less with it.  A window is long enough for a depot to give back
 *           what it holds, or to fill again; they come as with, without, without, with, so that what a program does more and more
 *           counts for neither.  A trial that nobody can judge is left: what was denied comes back, and what was asked for does not.
 * Promises  nothing oscillates: each trial doubles the rest before the next one, from 4 s to 256 s in which depots have, or would have,
 *           such room.
 * Set by the user  depot_room.
 *
 * Pure arithmetic: no clock, no lock, no system call.
 */
#ifndef HEW_TUNING_ROOM_H
#define HEW_TUNING_ROOM_H

#include "base/compiler.h"

#define HEW_ROOM_PAIRS 4u
#define HEW_ROOM_WINDOW_MS 250u

enum hew_room_state { HEW_ROOM_RESTS, HEW_ROOM_TRIES };

enum hew_room_outcome {
    HEW_ROOM_NOTHING,
    HEW_ROOM_TRIED,  /* a trial begins */
    HEW_ROOM_KEPT,   /* the room stays */
    HEW_ROOM_UNDONE, /* depots have their usual room */
    HEW_ROOM_LEFT,   /* the program does too little to tell, or there is no room any more */
};

struct hew_room {
    enum hew_room_state state;
    bool denied, granted;                                   /* by the last verdict */
    bool there, asked;                                      /* some of what is tried was there before; some was not */
    unsigned windows;                                       /* of the trial so far */
    unsigned trials;                                        /* for which the rest has doubled */
    uint64_t left_ms;                                       /* of the rest */
    uint64_t with[HEW_ROOM_PAIRS], without[HEW_ROOM_PAIRS]; /* picoseconds of processor time for an operation */
};

/* What has come since the last call.  `more`: bytes beyond the usual that depots have, or would have if nobody denied them, `asked` those
 * of them that are there once they are granted.  While it rests, processor time and operations are not asked for. */
struct hew_room_window {
    uint64_t passed_ms, cpu_ns, operations, more, asked;
};

void hew_room_begin(struct hew_room *room);
enum hew_room_outcome hew_room_step(struct hew_room *room, const struct hew_room_window *window);

/* Ends a trial without a verdict. */
void hew_room_leave(struct hew_room *room);

/* Whether depots are to have no more than their usual room in the window that begins, or also what is asked for. */
bool hew_room_denies(const struct hew_room *room);
bool hew_room_grants(const struct hew_room *room);

/* Of the pairs of the last trial, the middle: with the room, and without it. */
uint64_t hew_room_middle(const uint64_t pairs[HEW_ROOM_PAIRS]);

HEW_INLINE bool
hew_room_is_tried(const struct hew_room *room)
{
    return room->state == HEW_ROOM_TRIES;
}

#endif

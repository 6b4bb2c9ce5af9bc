/* SPDX-License-Identifier: MIT */
/*
 * controller: looks at the counters now and then, and moves what the purger's thread can where nobody has set it: the option `tuning`.
 *
 * That is the dirty decay time (residence.h), and whether depots keep room beyond the usual (depots.h, room.h).  What else tunes itself is
 * moved where it is used: room of threads' caches by each thread (cache/share.h), room of depots by what was wanted again (cache/ghost.h).
 *
 * Owns      the state of what it moves, some 1 KiB; it belongs to whoever calls hew_tuning_round().
 * Promises  off, nothing is read and nothing moved.  A look takes no more than a thousandth of the time that passes.
 * Not here  what was done so far: base/steps.h, stats/tuning.h.
 */
#ifndef HEW_TUNING_CONTROLLER_H
#define HEW_TUNING_CONTROLLER_H

#include "base/compiler.h"

/* Looks if it is time to.  By one thread only, the purger's, without locks.  Milliseconds to the next look; 0: never. */
uint64_t hew_tuning_round(uint64_t now_ms);

/* That thread sleeps until there is something to do: nobody looks meanwhile.  By it alone. */
void hew_tuning_pause(void);

/* The purger's thread is gone, and perhaps another one comes later: a step that was being tried is undone, since nobody would judge it;
 * those that were kept stay.  By whoever has joined that thread. */
void hew_tuning_stop(void);

/* In a fork's child, where that thread does not exist: what it was about is forgotten. */
void hew_tuning_after_fork(void);

#endif

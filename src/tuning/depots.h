/* SPDX-License-Identifier: MIT */
/*
 * depots: the room that depots have beyond the usual is tried against the usual one, and goes where it does not pay.
 *
 * Reads     processor time of the process, operations of all its threads (cache/work.h), and what depots have (cache/depot.h).
 * Moves     hew_ghost_permit(), as room.h says; tells each verdict (base/steps.h, stats/tuning.h).
 * Set by the user  depot_room; with tuning:observe depots have their usual room, and there is nothing to judge.
 * Owns      its state, which belongs to whoever calls hew_depots_look().
 */
#ifndef HEW_TUNING_DEPOTS_H
#define HEW_TUNING_DEPOTS_H

#include "base/compiler.h"

/* Looks if it is time to.  By the purger's thread.  Milliseconds to the next look; 0: never. */
uint64_t hew_depots_look(uint64_t now_ms);

/* Nobody will look for a while: a trial ends without a verdict. */
void hew_depots_pause(void);

/* Nobody will look, or somebody else: as at the beginning. */
void hew_depots_forget(void);

#endif

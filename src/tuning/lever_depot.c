/* SPDX-License-Identifier: MIT */
/*
 * lever_depot: the room of the depots between threads and arenas.
 *
 * Reads     what is lost to batches, bins and their locks (window.h), and batches that came to bins since depots had no room for
 *           them: without those more room is no use.
 * Moves     hew_budget_room.depots (a relaxed atomic): percent of what all depots may hold.  Doubled at each step.
 * Price     bytes of objects in depots, which keep slabs from being free: what the heaps hold on top of their peak that is not the
 *           program's.
 * Bounds    the usual room to 8 times it; a step that raises the peak by more than may be spent is undone.
 * Goes back by the same steps: what a depot holds beyond its room leaves as batches come, and by the purger's rounds.
 * Set by the user  depot_room, or tcache.
 */
#include "base/options.h"
#include "cache/budget.h"
#include "tuning/lever.h"

#define FLUSHED_PART 16 /* of all batches: so many that came to the bins, since depots had no room, are a reason */

static bool
depot_may_gain(const struct hew_tuning_counters *window)
{
    return window->refusals != 0 && window->flushes > window->batches / FLUSHED_PART;
}

struct hew_lever
hew_lever_depot(void)
{
    return (struct hew_lever){
        .step = HEW_STEP_DEPOT_ROOM,
        .number = HEW_STATS_TUNING_depot_room,
        .is_free = hew_options.tcache && !HEW_OPTION_IS_CHOSEN(depot_room),
        .rules = {.highest = 3, .worth_ppm = 5000, .gain_percent = 10},
        .move = hew_budget_set_depots,
        .may_gain = depot_may_gain,
    };
}

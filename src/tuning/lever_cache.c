/* SPDX-License-Identifier: MIT */
/*
 * lever_cache: the room of threads' caches.
 *
 * Reads     what is lost to batches, bins and their locks: window.h.
 * Moves     hew_budget_room.share and .step (relaxed atomics): percent of what a thread's magazines may hold, and what one step
 *           brings from the slabs.  Doubled at each step; threads that miss often grow into it, others do not.
 * Price     bytes of objects in magazines, which keep slabs from being free; seen as the most that the heaps hold during a trial.
 * Bounds    the usual room to 8 times it; a step that raises the peak by more than may be spent is undone.
 * Goes back by the same steps: magazines that hold more than their share are halved as their thread looks after them.
 * Set by the user  cache_room, tcache, tcache_max, tcache_ncached_max, or any of the slots settings.
 */
#include "base/options.h"
#include "cache/budget.h"
#include "tuning/lever.h"

static bool
cache_is_free(void)
{
    return hew_options.tcache && !HEW_OPTION_IS_CHOSEN(cache_room) && !HEW_OPTION_IS_CHOSEN(tcache_max) &&
           !HEW_OPTION_IS_CHOSEN(tcache_ncached_max) && !HEW_OPTION_IS_CHOSEN(lg_tcache_nslots_mul) &&
           !HEW_OPTION_IS_CHOSEN(tcache_nslots_small_min) && !HEW_OPTION_IS_CHOSEN(tcache_nslots_small_max) &&
           !HEW_OPTION_IS_CHOSEN(tcache_nslots_large);
}

static bool
cache_may_gain(const struct hew_tuning_counters *window)
{
    return true;
}

/* What magazines hold is not counted: all that the heaps hold may be theirs. */
static uint64_t
cache_holds(const struct hew_tuning_counters *window)
{
    return window->held;
}

struct hew_lever
hew_lever_cache(void)
{
    return (struct hew_lever){
        .step = HEW_STEP_CACHE_ROOM,
        .number = HEW_STATS_TUNING_cache_room,
        .is_free = cache_is_free(),
        .rules = {.highest = 3, .worth_ppm = 5000, .gain_percent = 10},
        .move = hew_budget_set_share,
        .may_gain = cache_may_gain,
        .holds = cache_holds,
    };
}

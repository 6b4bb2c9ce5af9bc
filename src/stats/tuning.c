/* SPDX-License-Identifier: MIT */
#include "stats/tuning.h"

#include "base/options.h"
#include "base/steps.h"
#include "cache/depot.h"
#include "cache/share.h"

_Atomic uint64_t hew_stats_tuning[HEW_STATS_TUNING_NUMBERS];

/* Without a lock: nobody else is there. */
void
hew_stats_tuning_after_fork(void)
{
    for (unsigned number = 0; number < HEW_STATS_TUNING_NUMBERS; number++) {
        atomic_store_explicit(&hew_stats_tuning[number], 0, memory_order_relaxed);
    }
    hew_steps_forget();
}

struct hew_stats_tuned
hew_stats_tuned(void)
{
    struct hew_stats_tuned tuned;
    for (unsigned number = 0; number < HEW_STATS_TUNING_NUMBERS; number++) {
        ((uint64_t *)&tuned)[number] = atomic_load_explicit(&hew_stats_tuning[number], memory_order_relaxed);
    }
    if (tuned.windows == 0) {
        tuned.dirty_decay_ms = (uint64_t)hew_options.dirty_decay_ms;
    }
    tuned.room_depots = hew_depot_counts().ghost_room;
    tuned.room_lent = atomic_load_explicit(&hew_share_counts.lent, memory_order_relaxed);
    tuned.room_trials = atomic_load_explicit(&hew_share_counts.trials, memory_order_relaxed);
    tuned.room_kept = atomic_load_explicit(&hew_share_counts.kept, memory_order_relaxed);
    tuned.room_refused = atomic_load_explicit(&hew_share_counts.refused, memory_order_relaxed);
    return tuned;
}

/* SPDX-License-Identifier: MIT */
/*
 * tuning: what the library has tuned by itself, for reports and mallctl.
 *
 * Owns      numbers, all relaxed and written by the purger's thread alone; those of threads are theirs (cache/share.h).
 * Not here  the last steps: base/steps.h.  Who decides: tuning/controller.h.
 */
#ifndef HEW_STATS_TUNING_H
#define HEW_STATS_TUNING_H

#include "stats/fields.h"

#include <stdatomic.h>

enum hew_stats_tuning_number {
#define HEW_STATS_TUNING(name, type, what) HEW_STATS_TUNING_##name,
#include "stats/tuning.def"
    HEW_STATS_TUNING_NUMBERS
};

/* In the order of the table. */
extern _Atomic uint64_t hew_stats_tuning[HEW_STATS_TUNING_NUMBERS];

HEW_INLINE void
hew_stats_tuning_count(enum hew_stats_tuning_number number, uint64_t more)
{
    atomic_fetch_add_explicit(&hew_stats_tuning[number], more, memory_order_relaxed);
}

/* The numbers; for what is in force the settings, until the controller has begun. */
struct hew_stats_tuned hew_stats_tuned(void);

/* In a fork's child: neither the numbers nor the steps are those of its parent. */
void hew_stats_tuning_after_fork(void);

#endif

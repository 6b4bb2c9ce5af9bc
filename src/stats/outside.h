/* SPDX-License-Identifier: MIT */
/*
 * outside: counters that are not part of a snapshot.  Layers above maintain and publish some of them here.  All relaxed.
 */
#ifndef HEW_STATS_OUTSIDE_H
#define HEW_STATS_OUTSIDE_H

#include "stats/fields.h"

#include <stdatomic.h>

/* Purgers: number of threads, wake-ups, and the total nanoseconds between wake-ups. */
struct hew_stats_background {
    _Atomic uint64_t threads, runs, between_ns;
};
extern struct hew_stats_background hew_stats_background;

/* The same in jemalloc's form: run_interval is a mean. */
struct hew_stats_background_numbers {
    uint64_t num_threads, num_runs, run_interval;
};
struct hew_stats_background_numbers hew_stats_background_numbers(void);

/* Guarded objects; all zeros without hardening:sample. */
struct hew_stats_guard hew_stats_guard(void);

/* Calls of realloc(pointer, 0) with a pointer that is not NULL. */
extern _Atomic uint64_t hew_stats_zero_reallocs;

#endif

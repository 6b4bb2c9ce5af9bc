/* SPDX-License-Identifier: MIT */
#include "stats/outside.h"

struct hew_stats_background hew_stats_background;
_Atomic uint64_t hew_stats_zero_reallocs;

struct hew_stats_background_numbers
hew_stats_background_numbers(void)
{
    uint64_t runs = atomic_load_explicit(&hew_stats_background.runs, memory_order_relaxed);
    uint64_t between = atomic_load_explicit(&hew_stats_background.between_ns, memory_order_relaxed);
    uint64_t threads = atomic_load_explicit(&hew_stats_background.threads, memory_order_relaxed);
    return (struct hew_stats_background_numbers){threads, runs, runs == 0 ? 0 : between / runs};
}

/* SPDX-License-Identifier: MIT */
#include "stats/outside.h"

#include "guard/guard.h"

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

struct hew_stats_guard
hew_stats_guard(void)
{
    struct hew_guard_counts counts = hew_guard_counts();
    return (struct hew_stats_guard){
        .guarded = counts.guarded,
        .live = counts.live,
        .waiting = counts.waiting,
        .passed = counts.passed,
        .refused = counts.refused,
        .interval = counts.interval,
        .reported = counts.reported,
        .use_after_free = counts.found[HEW_GUARD_USE_AFTER_FREE],
        .overflow = counts.found[HEW_GUARD_OVERFLOW],
        .underflow = counts.found[HEW_GUARD_UNDERFLOW],
        .double_free = counts.found[HEW_GUARD_DOUBLE_FREE],
        .bad_pointer = counts.found[HEW_GUARD_BAD_POINTER],
    };
}

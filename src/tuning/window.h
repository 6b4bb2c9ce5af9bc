/* SPDX-License-Identifier: MIT */
/*
 * window: what the counters say that the library has anyway, as of a moment; a window is the difference of two.
 *
 * Owns      nothing.  Reads depots' counts as they are, bins and page heaps under their locks, one at a time.
 * Cost      some 30 ns for each bin that has been used, and one system call.
 * Called    by the purger's thread, without any lock of ours.
 */
#ifndef HEW_TUNING_WINDOW_H
#define HEW_TUNING_WINDOW_H

#include "base/compiler.h"

struct hew_tuning_counters {
    uint64_t at_ms;
    uint64_t cpu_ns;          /* processor time of the whole process */
    uint64_t batches;         /* between magazines and depots */
    uint64_t refusals;        /* batches that a depot had no room for */
    uint64_t fills, flushes;  /* batches of bins */
    uint64_t filled, flushed; /* objects of these, and large ones */
    uint64_t spins, sleeps;   /* times that a thread waited for a bin's or a page heap's lock */
    uint64_t returned, taken; /* bytes of pages that went back to the system, and came from it */
    bool has_fallen; /* of a difference: some count has, as of arenas that were destroyed or counts that were reset */
    uint64_t held;   /* bytes that the heaps hold now: in use, dirty or muzzy; */
    uint64_t
        live; /* of these the program's, with what its threads have at hand: not dirty, not free in slabs, not in depots */
};

/* The counters now. */
void hew_tuning_read(struct hew_tuning_counters *now);

/* What has come between: 0 for a count that has fallen, which is told. */
struct hew_tuning_counters hew_tuning_since(const struct hew_tuning_counters *before,
                                            const struct hew_tuning_counters *now);

/* Time that the program has lost to batches, bins and their locks: an estimate from measured costs of each. */
uint64_t hew_tuning_lost_to_batches(const struct hew_tuning_counters *window);

#endif

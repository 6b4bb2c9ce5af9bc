/* SPDX-License-Identifier: MIT */
/*
 * weight: what a sampled object stands for.
 *
 * An object of s bytes is sampled with the chance p = 1 - e^(-s / interval), so it stands for 1 / p objects and s / p
 * bytes: sums of these are right on average, whatever the sizes.
 *
 * Readers of heap_v2 correct for themselves: they take each line's mean size for the size of all its objects and divide
 * by its chance.  That is wrong where sizes differ, so what is written is what becomes the right sums in their hands.
 * Pure functions.
 */
#ifndef HEW_PROF_WEIGHT_H
#define HEW_PROF_WEIGHT_H

#include "base/compiler.h"

#define HEW_WEIGHT_SHIFT 16 /* `weight_objects` counts 2^-16 objects */

struct hew_prof_totals {
    uint64_t objects, bytes;               /* sampled */
    uint64_t weight_objects, weight_bytes; /* what they stand for */
};

/* One sampled object of `size` bytes. */
struct hew_prof_totals hew_weight_of(size_t size, uint64_t interval);

void hew_weight_add(struct hew_prof_totals *to, const struct hew_prof_totals *more);
void hew_weight_subtract(struct hew_prof_totals *from, const struct hew_prof_totals *less);

struct hew_prof_shown {
    uint64_t objects, bytes;
};

/* What stands for the totals in a file, by the option prof_unbias: the sampled counts, or for a reader of heap_v2. */
struct hew_prof_shown hew_weight_for_heap_v2(const struct hew_prof_totals *totals, uint64_t interval, bool unbias);

/* Estimated objects and bytes, or with `unbias` false the sampled ones. */
struct hew_prof_shown hew_weight_estimate(const struct hew_prof_totals *totals, bool unbias);

#endif

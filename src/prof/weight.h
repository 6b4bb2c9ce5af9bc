/* SPDX-License-Identifier: MIT */
/*
 * weight: how many objects and bytes a sampled object represents.
 *
 * An object of s bytes is sampled with probability p = 1 - e^(-s / interval).  It represents 1 / p objects and s / p
 * bytes, so sums of these are unbiased for any mix of sizes.
 *
 * Readers of heap_v2 apply their own correction: they assume that all objects of a line have its mean size, and divide
 * by that size's probability.  This is wrong where sizes differ.  So the file holds values that become the unbiased
 * sums after that correction.  Pure functions.
 */
#ifndef HEW_PROF_WEIGHT_H
#define HEW_PROF_WEIGHT_H

#include "base/compiler.h"

#define HEW_WEIGHT_SHIFT 16 /* `weight_objects` counts 2^-16 objects */

struct hew_prof_totals {
    uint64_t objects, bytes;               /* sampled */
    uint64_t weight_objects, weight_bytes; /* what they represent */
};

/* One sampled object of `size` bytes. */
struct hew_prof_totals hew_weight_of(size_t size, uint64_t interval);

void hew_weight_add(struct hew_prof_totals *to, const struct hew_prof_totals *more);
void hew_weight_subtract(struct hew_prof_totals *from, const struct hew_prof_totals *less);

struct hew_prof_shown {
    uint64_t objects, bytes;
};

/* The values to write for the totals into a heap_v2 file: with prof_unbias the ones described above, else the sampled
 * counts. */
struct hew_prof_shown hew_weight_for_heap_v2(const struct hew_prof_totals *totals, uint64_t interval, bool unbias);

/* Estimated objects and bytes; with `unbias` false the sampled ones. */
struct hew_prof_shown hew_weight_estimate(const struct hew_prof_totals *totals, bool unbias);

#endif

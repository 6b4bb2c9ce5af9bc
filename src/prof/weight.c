/* SPDX-License-Identifier: MIT */
#include "prof/weight.h"

#include "base/natural.h"

#define ONE ((double)(UINT64_C(1) << HEW_WEIGHT_SHIFT))
#define WEIGHT_MOST 0x1p60 /* with an interval near 2^63 a small object would overflow its sum */

static uint64_t
rounded(double value)
{
    return (uint64_t)((value < WEIGHT_MOST ? value : WEIGHT_MOST) + 0.5);
}

struct hew_prof_totals
hew_weight_of(size_t size, uint64_t interval)
{
    double chance = interval <= 1 ? 1 : hew_natural_chance((double)size / (double)interval);
    return (struct hew_prof_totals){1, size, rounded(ONE / chance), rounded((double)size / chance)};
}

void
hew_weight_add(struct hew_prof_totals *to, const struct hew_prof_totals *more)
{
    to->objects += more->objects;
    to->bytes += more->bytes;
    to->weight_objects += more->weight_objects;
    to->weight_bytes += more->weight_bytes;
}

void
hew_weight_subtract(struct hew_prof_totals *from, const struct hew_prof_totals *less)
{
    from->objects -= less->objects;
    from->bytes -= less->bytes;
    from->weight_objects -= less->weight_objects;
    from->weight_bytes -= less->weight_bytes;
}

struct hew_prof_shown
hew_weight_for_heap_v2(const struct hew_prof_totals *totals, uint64_t interval, bool unbias)
{
    if (!unbias || interval <= 1 || totals->weight_objects == 0 || totals->weight_bytes == 0) {
        return (struct hew_prof_shown){totals->objects, totals->bytes};
    }
    /* The reader will divide both by the probability of an object of mean size. */
    double objects = (double)totals->weight_objects / ONE, bytes = (double)totals->weight_bytes;
    double chance = hew_natural_chance(bytes / objects / (double)interval);
    uint64_t shown = rounded(objects * chance);
    return (struct hew_prof_shown){shown == 0 ? 1 : shown, rounded(bytes * chance)};
}

struct hew_prof_shown
hew_weight_estimate(const struct hew_prof_totals *totals, bool unbias)
{
    if (!unbias) {
        return (struct hew_prof_shown){totals->objects, totals->bytes};
    }
    uint64_t half = UINT64_C(1) << (HEW_WEIGHT_SHIFT - 1);
    return (struct hew_prof_shown){(totals->weight_objects + half) >> HEW_WEIGHT_SHIFT, totals->weight_bytes};
}

/* SPDX-License-Identifier: MIT */
#include "base/random.h"

#include "base/natural.h"

/* Returns a number in (0, 1], in steps of 2^-53. */
static double
draw_fraction(struct hew_random *random)
{
    return ((double)(hew_random_next(random) >> 11) + 1) / (double)(UINT64_C(1) << 53);
}

uint64_t
hew_random_objects(struct hew_random *random, size_t size, uint64_t interval)
{
    if (interval <= 1) {
        return 1; /* every object, whatever its size */
    }
    /* The integer part of an exponential variable is geometric: P(n objects pass) = e^(-n size / interval). */
    double bytes = -hew_natural_log(draw_fraction(random)) * (double)interval;
    double passed = bytes / (double)(size == 0 ? 1 : size);
    return passed >= 0x1p62 ? UINT64_C(1) << 62 : (uint64_t)passed + 1;
}

/* SPDX-License-Identifier: MIT */
#include "base/natural.h"

#include <string.h>

#define LN_2 0.693147180559945309417
#define MANTISSA_BITS 52
#define EXPONENT_BIAS 1023

static double
from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* value = 2^exponent * part with part in [0.75, 1.5).  There the series of ln(part) in (part - 1) / (part + 1) is
 * short. */
double
hew_natural_log(double value)
{
    uint64_t bits, mantissa;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> MANTISSA_BITS) - EXPONENT_BIAS;
    mantissa = bits & ((UINT64_C(1) << MANTISSA_BITS) - 1);
    double part = from_bits(mantissa | (uint64_t)EXPONENT_BIAS << MANTISSA_BITS);
    if (part >= 1.5) {
        part /= 2;
        exponent++;
    }
    double t = (part - 1) / (part + 1), square = t * t, power = t, sum = 0;
    for (unsigned odd = 1; odd <= 17; odd += 2) {
        sum += power / odd;
        power *= square;
    }
    return exponent * LN_2 + 2 * sum;
}

/* The series of 1 - e^-x, for x up to 1. */
static double
chance_series(double x)
{
    double term = x, sum = x;
    for (unsigned n = 2; n <= 17; n++) {
        term *= -x / n;
        sum += term;
    }
    return sum;
}

double
hew_natural_chance(double x)
{
    if (x > 40) {
        return 1; /* the difference is below the last bit */
    }
    /* 1 - e^-2y = 1 - (1 - c)^2 = c (2 - c), where c = 1 - e^-y: halve until the series is short. */
    unsigned halves = 0;
    while (x > 0.5) {
        x /= 2;
        halves++;
    }
    double chance = chance_series(x);
    while (halves-- > 0) {
        chance *= 2 - chance;
    }
    return chance;
}

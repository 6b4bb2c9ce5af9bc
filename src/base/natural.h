/* SPDX-License-Identifier: MIT */
/*
 * natural: the two exponential functions that sampling needs, without libm, which libhew does not link.
 *
 * Pure functions.  Relative errors are below 1e-12.
 */
#ifndef HEW_BASE_NATURAL_H
#define HEW_BASE_NATURAL_H

#include "base/compiler.h"

/* Returns the natural logarithm of `value`, which must be finite and above 0. */
double hew_natural_log(double value);

/* Returns 1 - e^-x for x >= 0: the probability that an event with an average distance of 1 occurs within x. */
double hew_natural_chance(double x);

#endif

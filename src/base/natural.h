/* SPDX-License-Identifier: MIT */
/*
 * natural: the two functions of e that sampling needs, without libm, which libhew does not link.
 *
 * Pure functions; relative errors below 1e-12.
 */
#ifndef HEW_BASE_NATURAL_H
#define HEW_BASE_NATURAL_H

#include "base/compiler.h"

/* The natural logarithm of `value`, which is above 0 and finite. */
double hew_natural_log(double value);

/* 1 - e^-x for x >= 0: the chance that something that comes once in a length of 1 on average comes within x. */
double hew_natural_chance(double x);

#endif

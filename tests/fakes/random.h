/* SPDX-License-Identifier: MIT */
/*
 * random: numbers that are the same in every run.
 *
 * Owns      nothing: the sequence is the caller's one number.
 * Source    splitmix64, G. L. Steele, D. Lea, C. H. Flood (2014).
 */
#ifndef HEW_TESTS_FAKES_RANDOM_H
#define HEW_TESTS_FAKES_RANDOM_H

#include <stdint.h>

/* The next number of the sequence that *random stands for. */
static inline uint64_t
random_next(uint64_t *random)
{
    uint64_t mixed = *random += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
}

/* From 0 to below - 1. */
static inline uint64_t
random_below(uint64_t *random, uint64_t below)
{
    return random_next(random) % below;
}

#endif

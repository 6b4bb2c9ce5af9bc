/* SPDX-License-Identifier: MIT */
/*
 * random: numbers for sampling; nothing that a secret may hang on.
 *
 * Owned by whoever holds the state.  Any state is good, 0 too: two that differ give streams that differ.
 * Source    G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators" (2014): one add, two multiplies.
 */
#ifndef HEW_BASE_RANDOM_H
#define HEW_BASE_RANDOM_H

#include "base/compiler.h"

struct hew_random {
    uint64_t state;
};

HEW_INLINE uint64_t
hew_random_next(struct hew_random *random)
{
    uint64_t value = random->state += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

/*
 * How many objects of `size` bytes to pass until one is the sample, at least 1: geometric with the chance
 * 1 - e^(-size / interval) for each, so that a byte in `interval` starts a sample on average, whatever the sizes.
 * It has no memory: a count that was cut short may as well be drawn anew.
 */
uint64_t hew_random_objects(struct hew_random *random, size_t size, uint64_t interval);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * random: random numbers for sampling; not for secrets.
 *
 * The holder of the state owns it.  Every state is valid, 0 included.  Two different states give different streams.
 * Source    G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators" (2014): one add, two
 *           multiplies.
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
 * Returns how many objects of `size` bytes to count until one is sampled, at least 1.  The distribution is geometric
 * with probability 1 - e^(-size / interval) for each object.  So on average one byte in `interval` starts a sample,
 * whatever the sizes.  It has no memory: a count that was cut short may be drawn again.
 */
uint64_t hew_random_objects(struct hew_random *random, size_t size, uint64_t interval);

#endif

/* SPDX-License-Identifier: MIT */
/* layers_random: numbers for models, the same for the same seed (xorshift64*, S. Vigna 2014). */
#ifndef HEW_TESTS_LAYERS_RANDOM_H
#define HEW_TESTS_LAYERS_RANDOM_H

#include <stdint.h>
#include <stdlib.h>

struct layers_random {
    uint64_t state; /* not 0 */
};

static inline uint64_t
layers_random_next(struct layers_random *random)
{
    uint64_t state = random->state;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    random->state = state;
    return state * UINT64_C(0x2545f4914f6cdd1d);
}

/* From 0 to bound - 1. */
static inline uint64_t
layers_random_below(struct layers_random *random, uint64_t bound)
{
    return (layers_random_next(random) >> 11) % bound;
}

/* True once in `times`, on average. */
static inline int
layers_random_once_in(struct layers_random *random, uint64_t times)
{
    return layers_random_below(random, times) == 0;
}

/* HEW_SEED of the environment, or a fixed one; a run that failed can be had again. */
static inline uint64_t
layers_random_seed(void)
{
    const char *text = getenv("HEW_SEED");
    uint64_t seed = text == NULL ? 0 : strtoull(text, NULL, 0);
    return seed == 0 ? UINT64_C(0x9e3779b97f4a7c15) : seed;
}

#endif

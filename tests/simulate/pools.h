/* SPDX-License-Identifier: MIT */
/*
 * pools: the pool set that some of the simulated programs have: made before the threads, destroyed when all is freed.
 */
#ifndef HEW_SIMULATE_POOLS_H
#define HEW_SIMULATE_POOLS_H

#include <stdbool.h>
#include <stddef.h>

void pools_begin(void);
void pools_end(void);
bool pools_there(void);

/* NULL: no memory, or the size is not the set's: what comes from the fallback is given back at once. */
void *pools_take(size_t size, bool zero);

/* In one of the ways in which an object of the set can be freed. */
void pools_give(void *object);

/* Gives back what the calling thread has at hand. */
void pools_trim(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * residence: counts the pages that hold at least one live byte: the resident memory if every other page were given back
 * at once.
 *
 * Owns      a count for each page that was ever used, by malloc, in leaves of 1 GiB of addresses.
 */
#ifndef HEW_TRACE_SIMULATE_RESIDENCE_H
#define HEW_TRACE_SIMULATE_RESIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#define RESIDENCE_LG_LEAF 18 /* pages */
#define RESIDENCE_LEAVES (UINT64_C(1) << 18)

struct residence {
    uint16_t **leaves;
    uint64_t pages;
};

bool residence_begin(struct residence *residence);
void residence_end(struct residence *residence);

/* [address, address + bytes) is used from now on.  False: no memory, or beyond 2^48 bytes. */
bool residence_use(struct residence *residence, uint64_t address, uint64_t bytes);
void residence_leave(struct residence *residence, uint64_t address, uint64_t bytes);

#endif

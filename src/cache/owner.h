/* SPDX-License-Identifier: MIT */
/*
 * owner: objects on their way from magazines and depots to the slabs and page heaps that own them.  Thread-safe.
 */
#ifndef HEW_CACHE_OWNER_H
#define HEW_CACHE_OWNER_H

#include "slab/arena.h"

/* Returns `count` objects of one class code, small or large, to their owners.  Ends the process, naming the
 * address, when one is not a live object. */
void hew_owner_give(unsigned code, void **objects, unsigned count);

#endif

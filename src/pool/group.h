/* SPDX-License-Identifier: MIT */
/*
 * group: the pools of one size together: the fixed group first, then the dynamic ones from the oldest on.
 *
 * Promises  objects come constructed and checked; what is given may be of any size of the set.  Lock-free.
 */
#ifndef HEW_POOL_GROUP_H
#define HEW_POOL_GROUP_H

#include "pool/set.h"

/* Up to `wanted` objects, at most HEW_POOL_AT_ONCE, of the fixed group or else the oldest dynamic pool that has some, so that the
 * others may become free; there those that came back last on this processor, then others from word `home` of the fixed group
 * on, or low addresses.  Listed as hew_pool_block_take() does. */
unsigned hew_pool_group_take(struct hew_pool_set *set, unsigned number, size_t home, void **end, unsigned wanted);

/* Objects of the set go back to their pools.  Ends the process, in the name of `function`, when one cannot be an object, or is
 * free already.  Returns whether a dynamic pool may go: see hew_pool_shrink(). */
bool hew_pool_group_give(struct hew_pool_set *set, const char *function, void *const *objects, unsigned count);

/* The block of the set that the object is in.  Ends the process when there is none. */
struct hew_pool_block *hew_pool_group_block(const struct hew_pool_set *set, const char *function, const void *object);

/* Ends the process unless an object of the block begins at the address. */
void hew_pool_group_examine_place(const struct hew_pool_block *block, const char *function, const void *object);

/* The same, and unless the object is not free below what threads have at hand. */
void hew_pool_group_examine(const struct hew_pool_block *block, const char *function, const void *object);

/* Ends the process: the object has been freed twice. */
_Noreturn void hew_pool_group_twice(const struct hew_pool_block *block, const char *function, const void *object);

#endif

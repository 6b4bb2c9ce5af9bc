/* SPDX-License-Identifier: MIT */
/*
 * group: all pools of one size: the fixed group first, then the dynamic pools, oldest first.
 *
 * Promises  allocated objects are constructed and checked; objects to free may be of any size of the set.  Lock-free.
 */
#ifndef HEW_POOL_GROUP_H
#define HEW_POOL_GROUP_H

#include "pool/set.h"

/* Allocates up to `wanted` objects, at most HEW_POOL_AT_ONCE.  The fixed group comes first, then the oldest dynamic
 * pool with free objects, so that newer pools can become wholly free.  Within a block it prefers the objects freed last
 * on this processor, then those from word `home` on (fixed group) or at low addresses.  Listed as by
 * hew_pool_block_take(). */
unsigned hew_pool_group_take(struct hew_pool_set *set, unsigned number, size_t home, void **end, unsigned wanted);

/* Frees objects of the set.  Aborts, with `function` in the message, if an address is not an object or is free already.
 * Returns whether a dynamic pool may be removable: see hew_pool_shrink(). */
bool hew_pool_group_give(struct hew_pool_set *set, const char *function, void *const *objects, unsigned count);

/* The block that contains the object.  Aborts if there is none. */
struct hew_pool_block *hew_pool_group_block(const struct hew_pool_set *set, const char *function, const void *object);

/* Aborts unless an object of the block begins at the address. */
void hew_pool_group_examine_place(const struct hew_pool_block *block, const char *function, const void *object);

/* Also aborts if the block has the object marked as free.  It cannot see objects that are free in magazines. */
void hew_pool_group_examine(const struct hew_pool_block *block, const char *function, const void *object);

/* Aborts: the object has been freed twice. */
_Noreturn void hew_pool_group_twice(const struct hew_pool_block *block, const char *function, const void *object);

#endif

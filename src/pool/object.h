/* SPDX-License-Identifier: MIT */
/*
 * object: constructs and checks objects on allocation and free, in sizes with a constructor and in sets that check.
 *
 * Called    by the holder of the objects.  Constructors and destructors run without any lock of hew.
 */
#ifndef HEW_POOL_OBJECT_H
#define HEW_POOL_OBJECT_H

#include "pool/set.h"

/* Bytes hew_pool_object_begin() needs for a block, on top of hew_pool_block_bytes(). */
size_t hew_pool_object_bytes(const struct hew_pool_set *set, const struct hew_pool_class *class, size_t count);

/* Sets up a block's bookkeeping of its objects in `room`, which must be zeroed. */
void hew_pool_object_begin(const struct hew_pool_set *set, const struct hew_pool_class *class,
                           struct hew_pool_block *block, void *room);

/* Whether the functions below have anything to do. */
HEW_INLINE bool
hew_pool_object_concerns(const struct hew_pool_block *block)
{
    return block->built != NULL || block->sums != NULL;
}

/* Called after allocation: checks that a free object was not written to, and constructs it on first use.  False: its
 * constructor failed. */
bool hew_pool_object_out(struct hew_pool_set *set, struct hew_pool_block *block, void *object);

/* Called before a free: records a checksum of its contents. */
void hew_pool_object_in(struct hew_pool_block *block, void *object);

/* Called when no thread can allocate from the block any more: checks its free objects, destroys its constructed
 * ones. */
void hew_pool_object_end(struct hew_pool_set *set, struct hew_pool_block *block, bool all_free);

#endif

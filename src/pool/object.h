/* SPDX-License-Identifier: MIT */
/*
 * object: what happens to an object of a size with a constructor, or in a set that checks, on its way in and out.
 *
 * Called    by whoever holds the objects; constructors and destructors run without any lock of ours.
 */
#ifndef HEW_POOL_OBJECT_H
#define HEW_POOL_OBJECT_H

#include "pool/set.h"

/* Bytes that hew_pool_object_begin() wants for a block, beyond hew_pool_block_bytes(). */
size_t hew_pool_object_bytes(const struct hew_pool_set *set, const struct hew_pool_class *class, size_t count);

/* A block's notes on its objects, in `room` of zeros. */
void hew_pool_object_begin(const struct hew_pool_set *set, const struct hew_pool_class *class,
                           struct hew_pool_block *block, void *room);

/* Whether the functions below have anything to do. */
HEW_INLINE bool
hew_pool_object_concerns(const struct hew_pool_block *block)
{
    return block->built != NULL || block->sums != NULL;
}

/* The object has been taken: it is as it was given, and constructed.  False: its constructor failed. */
bool hew_pool_object_out(struct hew_pool_set *set, struct hew_pool_block *block, void *object);

/* The object is about to be given: what it holds is noted. */
void hew_pool_object_in(struct hew_pool_block *block, void *object);

/* All objects of a block that nobody can take any more: the free ones are looked at, the constructed ones destructed. */
void hew_pool_object_end(struct hew_pool_set *set, struct hew_pool_block *block, bool all_free);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * grow: creation and removal of dynamic pools.
 *
 * Owns      the list of each size's dynamic pools; their size limits; the decision when to remove one.
 * Promises  a wholly free dynamic pool is removed when the free objects in the size's other pools exceed a quarter of
 *           its capacity, or when it has been free for the time set in the set's options.
 * Locks     the set's lock guards the list; it is not held while destructors run or a caller's source gets memory back.
 * Not here  the callers: serve.c, group.c, life.c.  Every interleaving: tests/model/pool_grow_model.c.
 */
#ifndef HEW_POOL_GROW_H
#define HEW_POOL_GROW_H

#include "pool/set.h"

/* Creates a block's bookkeeping; no object is free.  NULL without memory. */
struct hew_pool_block *hew_pool_grow_block(struct hew_pool_set *set, unsigned number, size_t count);

/* Frees the block's own memory while its set is destroyed. */
void hew_pool_grow_drop_block(struct hew_pool_set *set, struct hew_pool_block *block);

/* Adds a dynamic pool.  Returns true also if another thread has just added one, false at a limit or without memory. */
bool hew_pool_grow(struct hew_pool_set *set, unsigned number, size_t capacity_seen);

enum hew_pool_haste {
    HEW_POOL_BY_ROOM, /* the quarter rule above */
    HEW_POOL_BY_TIME, /* that rule, or the time has elapsed */
    HEW_POOL_ALL,
};

/* Removes wholly free dynamic pools of a size.  A pool removed by the quarter rule keeps its memory as a spare for a
 * short time, in case the next growth needs it.  Returns how many pools returned their memory. */
unsigned hew_pool_shrink(struct hew_pool_set *set, unsigned number, enum hew_pool_haste haste);

/* Whether the size has a pool or a spare that is waiting to expire. */
HEW_INLINE bool
hew_pool_waits(struct hew_pool_class *class)
{
    return atomic_load_explicit(&class->whole, memory_order_relaxed) != 0 ||
           atomic_load_explicit(&class->spare, memory_order_relaxed) != NULL;
}

/* Called after objects were freed to `block` or allocated from it: it may have become wholly free, or stopped being
 * so. */
void hew_pool_grow_note_given(struct hew_pool_class *class, struct hew_pool_block *block, size_t objects);
void hew_pool_grow_note_taken(struct hew_pool_class *class, struct hew_pool_block *block, size_t objects);

#endif

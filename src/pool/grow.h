/* SPDX-License-Identifier: MIT */
/*
 * grow: dynamic pools come and go.
 *
 * Owns      the list of each size's dynamic pools; what they may be at most; when one goes.
 * Promises  a dynamic pool that is wholly free goes when the free room in the size's other pools exceeds a quarter of its
 *           capacity, or when it has been free for the time that the set's options say.
 * Locks     the set's, around the list; destructors and a caller's source get memory back without it.
 * Not here  who calls when: serve.c, group.c, life.c.  Every interleaving: tests/model/pool_grow_model.c.
 */
#ifndef HEW_POOL_GROW_H
#define HEW_POOL_GROW_H

#include "pool/set.h"

/* Memory for a block's notes, none of its objects free.  NULL without memory. */
struct hew_pool_block *hew_pool_grow_block(struct hew_pool_set *set, unsigned number, size_t count);

/* The block's own memory; its set ends. */
void hew_pool_grow_drop_block(struct hew_pool_set *set, struct hew_pool_block *block);

/* One more dynamic pool; true also if another thread has just added one.  False: a bound is reached, or no memory. */
bool hew_pool_grow(struct hew_pool_set *set, unsigned number, size_t capacity_seen);

enum hew_pool_haste {
    HEW_POOL_BY_ROOM, /* the quarter's rule */
    HEW_POOL_BY_TIME, /* that, or the time is over */
    HEW_POOL_ALL,
};

/* Lets wholly free dynamic pools of a size go; what has gone by the quarter's rule keeps its memory for a moment, in case the
 * next growth wants it.  Returns how many gave memory back. */
unsigned hew_pool_shrink(struct hew_pool_set *set, unsigned number, enum hew_pool_haste haste);

/* Whether time has something to do with a size. */
HEW_INLINE bool
hew_pool_waits(struct hew_pool_class *class)
{
    return atomic_load_explicit(&class->whole, memory_order_relaxed) != 0 ||
           atomic_load_explicit(&class->spare, memory_order_relaxed) != NULL;
}

/* Objects came back to `block`, or left it: it may have become wholly free, or not be any more. */
void hew_pool_grow_note_given(struct hew_pool_class *class, struct hew_pool_block *block, size_t objects);
void hew_pool_grow_note_taken(struct hew_pool_class *class, struct hew_pool_block *block, size_t objects);

#endif

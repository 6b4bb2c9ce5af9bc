/* SPDX-License-Identifier: MIT */
/*
 * heap: an intrusive pairing heap ordered by address, which finds the lowest node first.
 *
 * Promises  Insert takes O(1); taking the lowest and removing any node take O(log n) amortised.  Allocates nothing.
 * Guarded by the owner's lock.
 * Source    Fredman, Sedgewick, Sleator, Tarjan: "The pairing heap" (1986), two-pass variant.
 */
#ifndef HEW_BASE_HEAP_H
#define HEW_BASE_HEAP_H

#include "base/compiler.h"

struct hew_heap_node {
    struct hew_heap_node *child, *next;
    struct hew_heap_node *back; /* previous sibling, or the parent for a first child */
    uintptr_t key;
};

struct hew_heap {
    struct hew_heap_node *root;
};

void hew_heap_insert(struct hew_heap *heap, struct hew_heap_node *node, uintptr_t key);
void hew_heap_remove(struct hew_heap *heap, struct hew_heap_node *node);

/* A walk over all nodes, which can be interrupted: each step follows one link.  The walk leaves each node once, after
 * those below it.  A caller that removes nodes that the walk has left, and inserts new ones, does not disturb it.
 * While the walk is interrupted, other threads may change the heap, but must not remove the node where it stands.  Then
 * it may miss nodes or meet them again, and only a limit on the steps ends it for certain. */
struct hew_heap_walk {
    struct hew_heap_node *at; /* NULL: finished, or not started */
    enum { HEW_HEAP_MET, HEW_HEAP_BELOW_DONE, HEW_HEAP_RETURNING } state;
};

HEW_INLINE void
hew_heap_walk_begin(struct hew_heap_walk *walk, const struct hew_heap *heap)
{
    walk->at = heap->root;
    walk->state = HEW_HEAP_MET;
}

/* Returns true if the next step leaves the node. */
HEW_INLINE bool
hew_heap_walk_leaves(const struct hew_heap_walk *walk)
{
    return walk->state == HEW_HEAP_BELOW_DONE || (walk->state == HEW_HEAP_MET && walk->at->child == NULL);
}

void hew_heap_walk_step(struct hew_heap_walk *walk);

/* Returns the node with the lowest key and leaves it in the heap; NULL: empty. */
HEW_INLINE struct hew_heap_node *
hew_heap_lowest(const struct hew_heap *heap)
{
    return heap->root;
}

#endif

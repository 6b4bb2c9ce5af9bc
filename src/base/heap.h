/* SPDX-License-Identifier: MIT */
/*
 * heap: an intrusive pairing heap ordered by address, so that the lowest node is found first.
 *
 * Promises  insert O(1), take the lowest O(log n) amortised, remove any O(log n) amortised; no memory of its own.
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

/* A walk over all nodes, which may rest: each step goes along one link.  It leaves each node once, after those below it: whoever
 * removes nodes that it has left, and inserts new ones, takes nothing from it.  Others may change the heap while it rests, but for
 * removing the node where it stands; then some nodes may be left out or met again, and only a count of steps ends it for certain. */
struct hew_heap_walk {
    struct hew_heap_node *at; /* NULL: over, or not begun */
    enum { HEW_HEAP_MET, HEW_HEAP_BELOW_DONE, HEW_HEAP_RETURNING } state;
};

HEW_INLINE void
hew_heap_walk_begin(struct hew_heap_walk *walk, const struct hew_heap *heap)
{
    walk->at = heap->root;
    walk->state = HEW_HEAP_MET;
}

/* Whether the next step leaves the node. */
HEW_INLINE bool
hew_heap_walk_leaves(const struct hew_heap_walk *walk)
{
    return walk->state == HEW_HEAP_BELOW_DONE || (walk->state == HEW_HEAP_MET && walk->at->child == NULL);
}

void hew_heap_walk_step(struct hew_heap_walk *walk);

/* The node with the lowest key, still in the heap; NULL when empty. */
HEW_INLINE struct hew_heap_node *
hew_heap_lowest(const struct hew_heap *heap)
{
    return heap->root;
}

#endif

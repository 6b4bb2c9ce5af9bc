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

/* The node with the lowest key, still in the heap; NULL when empty. */
HEW_INLINE struct hew_heap_node *
hew_heap_lowest(const struct hew_heap *heap)
{
    return heap->root;
}

#endif

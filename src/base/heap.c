/* SPDX-License-Identifier: MIT */
#include "base/heap.h"

/* Either may be NULL.  The lower root wins and takes the other as its first child. */
static struct hew_heap_node *
meld(struct hew_heap_node *left, struct hew_heap_node *right)
{
    if (left == NULL) {
        return right;
    }
    if (right == NULL) {
        return left;
    }
    if (right->key < left->key) {
        struct hew_heap_node *swap = left;
        left = right;
        right = swap;
    }
    right->back = left;
    right->next = left->child;
    if (left->child != NULL) {
        left->child->back = right;
    }
    left->child = right;
    left->next = left->back = NULL;
    return left;
}

/* Melds a list of siblings: first pairs from left to right, then the pairs from right to left. */
static struct hew_heap_node *
meld_siblings(struct hew_heap_node *first)
{
    struct hew_heap_node *pairs = NULL;
    while (first != NULL) {
        struct hew_heap_node *second = first->next;
        struct hew_heap_node *rest = second == NULL ? NULL : second->next;
        first->next = first->back = NULL; /* a walk ends at the root, which has neither */
        struct hew_heap_node *pair = meld(first, second);
        pair->next = pairs;
        pairs = pair;
        first = rest;
    }
    struct hew_heap_node *root = NULL;
    while (pairs != NULL) {
        struct hew_heap_node *next = pairs->next; /* meld() overwrites it; a single pair has none */
        root = meld(root, pairs);
        pairs = next;
    }
    return root;
}

void
hew_heap_insert(struct hew_heap *heap, struct hew_heap_node *node, uintptr_t key)
{
    node->child = node->next = node->back = NULL;
    node->key = key;
    heap->root = meld(heap->root, node);
}

void
hew_heap_remove(struct hew_heap *heap, struct hew_heap_node *node)
{
    struct hew_heap_node *orphans = meld_siblings(node->child);
    if (heap->root == node) {
        heap->root = orphans;
        return;
    }
    if (node->back->child == node) {
        node->back->child = node->next;
    } else {
        node->back->next = node->next;
    }
    if (node->next != NULL) {
        node->next->back = node->back;
    }
    heap->root = meld(heap->root, orphans);
}

void
hew_heap_walk_step(struct hew_heap_walk *walk)
{
    struct hew_heap_node *node = walk->at;
    if (walk->state == HEW_HEAP_MET && node->child != NULL) {
        walk->at = node->child;
    } else if (walk->state != HEW_HEAP_RETURNING && node->next != NULL) {
        walk->at = node->next;
        walk->state = HEW_HEAP_MET;
    } else {
        struct hew_heap_node *back = node->back;
        bool was_first = back != NULL && back->child == node; /* then `back` is the parent */
        walk->at = back;
        walk->state = was_first ? HEW_HEAP_BELOW_DONE : HEW_HEAP_RETURNING;
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * tree: an ordered set of blocks.  In logarithmic time it finds the first block that is large enough, and how many
 * blocks lie before it.
 *
 * A textbook's first fit walks a list; a simulation of ten million requests cannot.  This is a treap (C. Aragon, R.
 * Seidel, "Randomized search trees", 1989).  Its nodes know the largest size and the number of blocks below them.  This
 * gives the block where the walk would stop, and the walk's length, without walking.
 *
 * Owns      its nodes, by malloc: 40 bytes for each block at their largest number.
 * Promises  keys are unique; a call with a key that is not in the tree does nothing and returns false.
 */
#ifndef HEW_TRACE_SIMULATE_TREE_H
#define HEW_TRACE_SIMULATE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tree_block {
    uint64_t key;  /* primary key of the order: an address, or a size */
    uint64_t size; /* the size to search for; secondary key of the order */
};

struct tree_node;

struct tree {
    struct tree_node *nodes; /* number 0 is no node */
    uint32_t root;
    uint32_t used;
    uint32_t room;
    uint32_t free; /* list of unused nodes */
    uint32_t random;
};

void tree_begin(struct tree *tree);
void tree_end(struct tree *tree);
uint64_t tree_count(const struct tree *tree);

/* False: no memory. */
bool tree_put(struct tree *tree, struct tree_block block);
bool tree_drop(struct tree *tree, struct tree_block block);

/* Replaces `before` by `after`, which must have the same position in the order. */
bool tree_change(struct tree *tree, struct tree_block before, struct tree_block after);

/* The first block of at least `size` whose key is at least `from`.  False: there is none. */
bool tree_first(const struct tree *tree, uint64_t from, uint64_t size, struct tree_block *found);

/* The last block whose key is below `key`; the second finds the largest block, the first of several. */
bool tree_before(const struct tree *tree, uint64_t key, struct tree_block *found);
bool tree_largest(const struct tree *tree, struct tree_block *found);

/* The number of blocks with a key below this one. */
uint64_t tree_rank(const struct tree *tree, uint64_t key);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * tree: an ordered set of blocks that tells, in logarithmic time, the first one that is large enough and how many lie before it.
 *
 * A textbook's first fit walks a list; a simulation of ten million requests cannot.  This is a treap (C. Aragon, R. Seidel, "Randomized
 * search trees", 1989) whose nodes know the largest size and the number of blocks below them, so that both the block that the walk
 * would stop at and the length of that walk are found without it.
 *
 * Owns      its nodes, by malloc: 40 bytes for each block of the moment when there were most.
 * Promises  keys are unique; a call that takes a key which is not there does nothing and says so.
 */
#ifndef HEW_TRACE_SIMULATE_TREE_H
#define HEW_TRACE_SIMULATE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tree_block {
    uint64_t key;  /* what the order goes by first: an address, or a size */
    uint64_t size; /* what is looked for; the order goes by it second */
};

struct tree_node;

struct tree {
    struct tree_node *nodes; /* number 0 is no node */
    uint32_t root;
    uint32_t used;
    uint32_t room;
    uint32_t free; /* a list of nodes that are no longer used */
    uint32_t random;
};

void tree_begin(struct tree *tree);
void tree_end(struct tree *tree);
uint64_t tree_count(const struct tree *tree);

/* False: no memory. */
bool tree_put(struct tree *tree, struct tree_block block);
bool tree_drop(struct tree *tree, struct tree_block block);

/* The block before becomes the block after, which stands at the same place in the order. */
bool tree_change(struct tree *tree, struct tree_block before, struct tree_block after);

/* The first block of `size` or more whose key is `from` or more.  False: there is none. */
bool tree_first(const struct tree *tree, uint64_t from, uint64_t size, struct tree_block *found);

/* The last block whose key is below `key`; the largest block, of several the first. */
bool tree_before(const struct tree *tree, uint64_t key, struct tree_block *found);
bool tree_largest(const struct tree *tree, struct tree_block *found);

/* How many blocks have a key below this one. */
uint64_t tree_rank(const struct tree *tree, uint64_t key);

#endif

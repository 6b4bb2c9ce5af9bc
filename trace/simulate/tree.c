/* SPDX-License-Identifier: MIT */
/* tree: see tree.h.  Depth is about twice the logarithm of the count, so recursion is bounded. */
#include "simulate/tree.h"

#include <stdlib.h>

struct tree_node {
    struct tree_block block;
    uint64_t most; /* the largest size in this node and below it */
    uint32_t count;
    uint32_t left;
    uint32_t right;
    uint32_t priority;
};

void
tree_begin(struct tree *tree)
{
    *tree = (struct tree){.random = 2463534242u, .used = 1};
}

void
tree_end(struct tree *tree)
{
    free(tree->nodes);
    tree_begin(tree);
}

uint64_t
tree_count(const struct tree *tree)
{
    return tree->root != 0 ? tree->nodes[tree->root].count : 0;
}

static bool
comes_before(struct tree_block one, struct tree_block other)
{
    return one.key != other.key ? one.key < other.key : one.size < other.size;
}

static void
sum_up(struct tree_node *nodes, uint32_t at)
{
    struct tree_node *node = &nodes[at];
    const struct tree_node *left = &nodes[node->left], *right = &nodes[node->right];
    uint64_t most = node->block.size;

    if (most < left->most) {
        most = left->most;
    }
    node->most = most < right->most ? right->most : most;
    node->count = left->count + right->count + 1;
}

/* Moves the blocks before `block` to *left, the rest to *right. */
static void
split(struct tree_node *nodes, uint32_t at, struct tree_block block, uint32_t *left, uint32_t *right)
{
    if (at == 0) {
        *left = *right = 0;
    } else if (comes_before(nodes[at].block, block)) {
        split(nodes, nodes[at].right, block, &nodes[at].right, right);
        *left = at;
        sum_up(nodes, at);
    } else {
        split(nodes, nodes[at].left, block, left, &nodes[at].left);
        *right = at;
        sum_up(nodes, at);
    }
}

static uint32_t
join(struct tree_node *nodes, uint32_t left, uint32_t right)
{
    if (left == 0 || right == 0) {
        return left != 0 ? left : right;
    }
    if (nodes[left].priority > nodes[right].priority) {
        nodes[left].right = join(nodes, nodes[left].right, right);
        sum_up(nodes, left);
        return left;
    }
    nodes[right].left = join(nodes, left, nodes[right].left);
    sum_up(nodes, right);
    return right;
}

/* Returns an unused node, or 0: no memory. */
static uint32_t
new_node(struct tree *tree)
{
    uint32_t at = tree->free;

    if (at != 0) {
        tree->free = tree->nodes[at].left;
        return at;
    }
    if (tree->used >= tree->room) {
        uint32_t room = tree->room != 0 ? tree->room * 2 : 64;
        struct tree_node *nodes = room > tree->room ? realloc(tree->nodes, room * sizeof(*nodes)) : NULL;
        if (nodes == NULL) {
            return 0;
        }
        nodes[0] = (struct tree_node){0};
        tree->nodes = nodes;
        tree->room = room;
    }
    return tree->used++;
}

static void
insert(struct tree_node *nodes, uint32_t *at, uint32_t node)
{
    while (*at != 0 && nodes[*at].priority >= nodes[node].priority) {
        struct tree_node *here = &nodes[*at];
        here->count++;
        if (here->most < nodes[node].block.size) {
            here->most = nodes[node].block.size;
        }
        at = comes_before(here->block, nodes[node].block) ? &here->right : &here->left;
    }
    split(nodes, *at, nodes[node].block, &nodes[node].left, &nodes[node].right);
    *at = node;
    sum_up(nodes, node);
}

bool
tree_put(struct tree *tree, struct tree_block block)
{
    uint32_t node = new_node(tree);

    if (node == 0) {
        return false;
    }
    tree->random ^= tree->random << 13;
    tree->random ^= tree->random >> 17;
    tree->random ^= tree->random << 5;
    tree->nodes[node] = (struct tree_node){.block = block, .priority = tree->random};
    insert(tree->nodes, &tree->root, node);
    return true;
}

/* Removes the node of this block from the tree below *at; returns its number, or 0. */
static uint32_t
take_out(struct tree_node *nodes, uint32_t *at, struct tree_block block)
{
    uint32_t here = *at, gone;

    if (here == 0) {
        return 0;
    }
    if (nodes[here].block.key == block.key && nodes[here].block.size == block.size) {
        *at = join(nodes, nodes[here].left, nodes[here].right);
        return here;
    }
    gone = take_out(nodes, comes_before(nodes[here].block, block) ? &nodes[here].right : &nodes[here].left, block);
    if (gone != 0) {
        sum_up(nodes, here);
    }
    return gone;
}

bool
tree_drop(struct tree *tree, struct tree_block block)
{
    uint32_t node = tree->root != 0 ? take_out(tree->nodes, &tree->root, block) : 0;

    if (node == 0) {
        return false;
    }
    tree->nodes[node].left = tree->free;
    tree->free = node;
    return true;
}

static bool
change_below(struct tree_node *nodes, uint32_t at, struct tree_block before, struct tree_block after)
{
    if (at == 0) {
        return false;
    }
    if (nodes[at].block.key == before.key && nodes[at].block.size == before.size) {
        nodes[at].block = after;
    } else {
        bool right = comes_before(nodes[at].block, before);
        if (!change_below(nodes, right ? nodes[at].right : nodes[at].left, before, after)) {
            return false;
        }
    }
    sum_up(nodes, at);
    return true;
}

bool
tree_change(struct tree *tree, struct tree_block before, struct tree_block after)
{
    return change_below(tree->nodes, tree->root, before, after);
}

/* The first block below `at` that is large enough; one exists. */
static uint32_t
leftmost(const struct tree_node *nodes, uint32_t at, uint64_t size)
{
    while (true) {
        if (nodes[nodes[at].left].most >= size) {
            at = nodes[at].left;
        } else if (nodes[at].block.size >= size) {
            return at;
        } else {
            at = nodes[at].right;
        }
    }
}

bool
tree_first(const struct tree *tree, uint64_t from, uint64_t size, struct tree_block *found)
{
    const struct tree_node *nodes = tree->nodes;
    uint32_t best = 0, at = tree->root;

    /* On the way down to `from`: the last left turn that has a large enough block to its right. */
    while (at != 0 && nodes[at].most >= size) {
        if (nodes[at].block.key < from) {
            at = nodes[at].right;
            continue;
        }
        if (nodes[at].block.size >= size) {
            best = at;
        } else if (nodes[nodes[at].right].most >= size) {
            best = leftmost(nodes, nodes[at].right, size);
        }
        at = nodes[at].left;
    }
    if (best == 0) {
        return false;
    }
    *found = nodes[best].block;
    return true;
}

bool
tree_before(const struct tree *tree, uint64_t key, struct tree_block *found)
{
    uint32_t best = 0;

    for (uint32_t at = tree->root; at != 0;) {
        if (tree->nodes[at].block.key < key) {
            best = at;
            at = tree->nodes[at].right;
        } else {
            at = tree->nodes[at].left;
        }
    }
    if (best == 0) {
        return false;
    }
    *found = tree->nodes[best].block;
    return true;
}

bool
tree_largest(const struct tree *tree, struct tree_block *found)
{
    return tree->root != 0 && tree_first(tree, 0, tree->nodes[tree->root].most, found);
}

uint64_t
tree_rank(const struct tree *tree, uint64_t key)
{
    uint64_t rank = 0;

    for (uint32_t at = tree->root; at != 0;) {
        if (tree->nodes[at].block.key < key) {
            rank += tree->nodes[tree->nodes[at].left].count + 1;
            at = tree->nodes[at].right;
        } else {
            at = tree->nodes[at].left;
        }
    }
    return rank;
}

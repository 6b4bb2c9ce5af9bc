/* SPDX-License-Identifier: MIT */
/*
 * ctl_tree: the rows of ctl_names.def as a tree of name parts.
 *
 * Owns      the rows and the tree.  Siblings are adjacent, so resolving a part of a MIB is one addition.
 * Promises  built at first use, constant from then on; no memory.
 * Locks     hew_ctl_lock (rank: outermost) while it is built.
 * Not here  the meaning of a row: ctl.c.
 */
#ifndef HEW_CONTROL_MALLCTL_CTL_TREE_H
#define HEW_CONTROL_MALLCTL_CTL_TREE_H

#include "control/mallctl/ctl.h"
#include "os/mutex.h"

enum hew_ctl_leaf {
#define HEW_CTL_LEAF(leaf) HEW_LEAF_##leaf,
#include "control/mallctl/ctl_leaves.def"
};

struct hew_ctl_node {
    uint16_t first, count; /* its children */
    uint16_t row;          /* the first row under this node; its own if it has one */
    uint8_t begin, length; /* of the node's part in that row's name */
};

extern struct hew_mutex hew_ctl_lock;

/* The rows in the order of ctl_names.def; a row with an empty name ends the table. */
extern const struct hew_ctl_row hew_ctl_rows[];

/* The node of the empty name. */
const struct hew_ctl_node *hew_ctl_tree_root(void);

/* The row of a node; NULL when the node is only a prefix of others. */
const struct hew_ctl_row *hew_ctl_tree_row(const struct hew_ctl_node *node);

/* The child at that position; if the children are an index, any position is valid.  NULL: none. */
const struct hew_ctl_node *hew_ctl_tree_child(const struct hew_ctl_node *node, size_t place);

/* The position of the child with this name part, or the index that the part is; false when there is none. */
bool hew_ctl_tree_place(const struct hew_ctl_node *node, const char *part, size_t length, size_t *place);

#endif

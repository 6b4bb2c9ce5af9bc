/* SPDX-License-Identifier: MIT */
/* ctl: see ctl.h.  From a name or a MIB to the leaf. */
#include "control/mallctl/ctl.h"

#include "base/options.h"
#include "control/mallctl/ctl_tree.h"

#include <errno.h>
#include <string.h>

/* Calls the function that serves the row.  In a table of pointers each one would cost a relocation of 24 bytes at the
 * front of libhew.so, which the loader applies in every process. */
static int
call_function(const struct hew_ctl_row *row, const struct hew_ctl_call *call)
{
    switch ((enum hew_ctl_leaf)row->leaf) {
#define HEW_CTL_LEAF(leaf)                                                                                             \
    case HEW_LEAF_##leaf:                                                                                              \
        return leaf(call);
#include "control/mallctl/ctl_leaves.def"
    }
    return ENOENT;
}

/* The node of mib[0 .. depth), given its parent, the node of mib[0 .. depth - 1); NULL when there is none. */
static const struct hew_ctl_node *
descend(const struct hew_ctl_node *parent, const size_t *mib, size_t depth)
{
    const struct hew_ctl_node *node = hew_ctl_tree_child(parent, mib[depth - 1]);
    const struct hew_ctl_row *row = node == NULL ? NULL : hew_ctl_tree_row(node);
    if (row != NULL && row->type == HEW_CTL_INDEX) {
        struct hew_ctl_call call = {.mib = mib, .depth = depth, .row = row};
        return call_function(row, &call) == 0 ? node : NULL;
    }
    return node;
}

/* Whether the row permits the access; a length without a buffer is EPERM too, as programs expect. */
static bool
may(const struct hew_ctl_call *call, bool reads, bool writes)
{
    return ((call->row->access & HEW_CTL_READ) != 0 || !reads) && ((call->row->access & HEW_CTL_WRITE) != 0 || !writes);
}

static int
call_leaf(const struct hew_ctl_node *node, struct hew_ctl_call *call)
{
    call->row = hew_ctl_tree_row(node);
    if (call->row == NULL || call->row->type == HEW_CTL_INDEX ||
        ((call->row->access & HEW_CTL_PROF) != 0 && !hew_options.prof)) {
        return ENOENT;
    }
    if (!may(call, call->old != NULL || call->old_length != NULL, call->new != NULL || call->new_length != 0)) {
        return EPERM;
    }
    if (call->old_length == NULL) {
        call->old = NULL;
    }
    return call_function(call->row, call);
}

/* Appends one part of the name to the MIB; NULL: no such part.  *name becomes the remainder, NULL after the last
 * part. */
static const struct hew_ctl_node *
descend_by_name(const struct hew_ctl_node *parent, const char **name, size_t *mib, size_t depth)
{
    size_t length = strcspn(*name, ".");
    if (!hew_ctl_tree_place(parent, *name, length, &mib[depth - 1])) {
        return NULL;
    }
    *name = (*name)[length] == '\0' ? NULL : *name + length + 1;
    return descend(parent, mib, depth);
}

/* Finds the node of a whole name and fills in its MIB; NULL: there is none. */
static const struct hew_ctl_node *
find(const char *name, size_t *mib, size_t *depth)
{
    const struct hew_ctl_node *node = hew_ctl_tree_root();
    *depth = 0;
    while (name != NULL && node != NULL && *depth < HEW_CTL_DEPTH_MAX) {
        node = descend_by_name(node, &name, mib, ++*depth);
    }
    return name == NULL ? node : NULL;
}

int
hew_ctl_by_name(const char *name, void *old, size_t *old_length, const void *new, size_t new_length)
{
    size_t mib[HEW_CTL_DEPTH_MAX], depth;
    const struct hew_ctl_node *node = name == NULL ? NULL : find(name, mib, &depth);
    if (node == NULL) {
        return ENOENT;
    }
    struct hew_ctl_call call = {mib, depth, old, old_length, new, new_length, NULL};
    return call_leaf(node, &call);
}

const struct hew_ctl_row *
hew_ctl_row_of(const char *name)
{
    size_t mib[HEW_CTL_DEPTH_MAX], depth;
    const struct hew_ctl_node *node = find(name, mib, &depth);
    return node == NULL ? NULL : hew_ctl_tree_row(node);
}

int
hew_ctl_by_mib(struct hew_ctl_call *call)
{
    const struct hew_ctl_node *node = hew_ctl_tree_root();
    if (call->mib == NULL) {
        return ENOENT;
    }
    for (size_t part = 1; part <= call->depth; part++) {
        node = descend(node, call->mib, part);
        if (node == NULL) {
            return ENOENT;
        }
    }
    return call_leaf(node, call);
}

int
hew_ctl_to_mib(const char *name, size_t *mib, size_t *depth)
{
    if (depth == NULL || (mib == NULL && *depth != 0)) {
        return EINVAL;
    }
    if (name == NULL) {
        return ENOENT;
    }
    size_t parts = 0;
    const struct hew_ctl_node *node = hew_ctl_tree_root();
    while (name != NULL && parts < *depth) {
        node = descend_by_name(node, &name, mib, ++parts);
        if (node == NULL) {
            return ENOENT;
        }
    }
    *depth = parts;
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * ctl: mallctl's tree of names, as it looks to a leaf and to the exported functions.
 *
 * A name ("arena.0.purge") or its MIB ({3, 0, 2}: the place of each part among its siblings, an index as itself) leads
 * to a row of ctl_names.def, which tells the type, what may be done with it, and the leaf: the function that does it.
 *
 * Promises  what a row does not allow is refused here; a leaf sees only calls that may read, write or both.
 * Locks     none is held while a leaf runs, so that a leaf may end up in a program's extent hook which asks again.
 * Not here  leaves: ctl_<subtree>.c.  How they copy values: ctl_value.h.  The tree itself: ctl_tree.c.
 */
#ifndef HEW_CONTROL_MALLCTL_CTL_H
#define HEW_CONTROL_MALLCTL_CTL_H

#include "base/compiler.h"

enum hew_ctl_type {
    HEW_CTL_VOID,
    HEW_CTL_BOOL,
    HEW_CTL_UNSIGNED,
    HEW_CTL_U32,
    HEW_CTL_U64,
    HEW_CTL_I64,
    HEW_CTL_SIZE,
    HEW_CTL_SSIZE,
    HEW_CTL_TEXT,    /* const char * */
    HEW_CTL_POINTER, /* any other pointer */
    HEW_CTL_STRUCT,  /* the leaf knows */
    HEW_CTL_INDEX,   /* no value: the leaf tells whether the index is in range */
};

enum hew_ctl_access {
    HEW_CTL_NONE = 0,
    HEW_CTL_READ = 1,
    HEW_CTL_WRITE = 2,
    HEW_CTL_BOTH = 3,
    HEW_CTL_PROF = 4, /* unless prof:true, ENOENT whatever is asked */
    HEW_CTL_NONE_PROF = HEW_CTL_NONE | HEW_CTL_PROF,
    HEW_CTL_READ_PROF = HEW_CTL_READ | HEW_CTL_PROF,
    HEW_CTL_WRITE_PROF = HEW_CTL_WRITE | HEW_CTL_PROF,
    HEW_CTL_BOTH_PROF = HEW_CTL_BOTH | HEW_CTL_PROF,
};

#define HEW_CTL_NAME_MAX 64
#define HEW_CTL_DEPTH_MAX 7

/* A row of ctl_names.def.  Without pointers: the table costs a process no relocation. */
struct hew_ctl_row {
    char name[HEW_CTL_NAME_MAX];
    uint32_t field; /* which of several values of one leaf */
    uint8_t type, access, leaf;
};

struct hew_ctl_call {
    const size_t *mib; /* index parts hold the index that the caller gave */
    size_t depth;
    void *old; /* NULL: not read; never without old_length */
    size_t *old_length;
    const void *new; /* NULL: not written */
    size_t new_length;
    const struct hew_ctl_row *row;
};

/* 0, or ENOENT EINVAL EPERM EFAULT EAGAIN. */
typedef int (*hew_ctl_leaf)(const struct hew_ctl_call *call);

#define HEW_CTL_LEAF(leaf) int leaf(const struct hew_ctl_call *call);
#include "control/mallctl/ctl_leaves.def"

/* mallctl and its kin; any pointer may be NULL. */
int hew_ctl_by_name(const char *name, void *old, size_t *old_length, const void *new, size_t new_length);
int hew_ctl_by_mib(struct hew_ctl_call *call); /* all but the row */

/* The row that a name leads to; NULL: it leads to none. */
const struct hew_ctl_row *hew_ctl_row_of(const char *name);

/* As much of the name's MIB as *depth has room for; a name of an inner node will do. */
int hew_ctl_to_mib(const char *name, size_t *mib, size_t *depth);

#endif

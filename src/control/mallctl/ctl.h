/* SPDX-License-Identifier: MIT */
/*
 * ctl: mallctl's tree of names: the interface for leaves and for the exported functions.
 *
 * A name ("arena.0.purge") or its MIB ({3, 0, 2}: each part's position among its siblings; an index stands for itself)
 * leads to a row of ctl_names.def.  The row has the type, the permitted operations, and the leaf: the function that
 * executes them.
 *
 * Promises  operations that a row does not permit are refused here; a leaf sees only permitted reads and writes.
 * Locks     none is held while a leaf runs, so a leaf may call a program's extent hook that calls mallctl again.
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
    HEW_CTL_STRUCT,  /* defined by the leaf */
    HEW_CTL_INDEX,   /* no value: the leaf checks whether the index is in range */
};

enum hew_ctl_access {
    HEW_CTL_NONE = 0,
    HEW_CTL_READ = 1,
    HEW_CTL_WRITE = 2,
    HEW_CTL_BOTH = 3,
    HEW_CTL_PROF = 4, /* without prof:true every operation returns ENOENT */
    HEW_CTL_NONE_PROF = HEW_CTL_NONE | HEW_CTL_PROF,
    HEW_CTL_READ_PROF = HEW_CTL_READ | HEW_CTL_PROF,
    HEW_CTL_WRITE_PROF = HEW_CTL_WRITE | HEW_CTL_PROF,
    HEW_CTL_BOTH_PROF = HEW_CTL_BOTH | HEW_CTL_PROF,
};

#define HEW_CTL_NAME_MAX 64
#define HEW_CTL_DEPTH_MAX 7

/* A row of ctl_names.def.  It has no pointers, so the table needs no relocations. */
struct hew_ctl_row {
    char name[HEW_CTL_NAME_MAX];
    uint32_t field; /* selects one of several values of a leaf */
    uint8_t type, access, leaf;
};

struct hew_ctl_call {
    const size_t *mib; /* an index part holds the caller's index */
    size_t depth;
    void *old; /* NULL: no read; never set without old_length */
    size_t *old_length;
    const void *new; /* NULL: no write */
    size_t new_length;
    const struct hew_ctl_row *row;
};

/* Each returns 0, ENOENT, EINVAL, EPERM, EFAULT or EAGAIN. */
#define HEW_CTL_LEAF(leaf) int leaf(const struct hew_ctl_call *call);
#include "control/mallctl/ctl_leaves.def"

/* Implement mallctl and related functions; any pointer may be NULL. */
int hew_ctl_by_name(const char *name, void *old, size_t *old_length, const void *new, size_t new_length);
int hew_ctl_by_mib(struct hew_ctl_call *call); /* the caller sets everything but the row */

/* The row of a name; NULL: there is none. */
const struct hew_ctl_row *hew_ctl_row_of(const char *name);

/* Stores as much of the name's MIB as *depth permits; the name may be that of an inner node. */
int hew_ctl_to_mib(const char *name, size_t *mib, size_t *depth);

#endif

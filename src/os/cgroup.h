/* SPDX-License-Identifier: MIT */
/*
 * cgroup: memory limit and memory usage of the process's control group.
 *
 * Owns      Nothing.  Each call opens, reads and closes its files.  So hew keeps no file descriptor open, which matters
 *           to programs that close or count all descriptors.
 * Promises  Handles groups of version 2 and version 1, and every group above; the smallest limit applies.  Allocates
 *           nothing and keeps errno.
 */
#ifndef HEW_OS_CGROUP_H
#define HEW_OS_CGROUP_H

#include "base/compiler.h"

#define HEW_CGROUP_PATH_BYTES 640

/* The group with the smallest limit. */
struct hew_cgroup {
    size_t limit; /* 0: no group has a limit */
    char folder[HEW_CGROUP_PATH_BYTES];
    bool unified; /* version 2 */
};

/* `membership` stands for /proc/self/cgroup and `root` for the mount point of the groups; tests pass others.  NULL: the
 * usual ones. */
struct hew_cgroup hew_cgroup_find(const char *membership, const char *root);

/* Returns the bytes charged to the group, without file pages, which the system reclaims before it kills a process.  0:
 * unknown. */
size_t hew_cgroup_usage(const struct hew_cgroup *group);

#endif

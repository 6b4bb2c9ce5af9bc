/* SPDX-License-Identifier: MIT */
/*
 * cgroup: how much memory the process's control group may have, and how much it has.
 *
 * Owns      nothing: each call opens, reads and closes, so that no file descriptor of ours stays open for a program that closes all
 *           it finds, or counts them.
 * Promises  the group of version 2 and of version 1, with every group above it; the least limit counts.  Allocates nothing, keeps
 *           errno.
 */
#ifndef HEW_OS_CGROUP_H
#define HEW_OS_CGROUP_H

#include "base/compiler.h"

#define HEW_CGROUP_PATH_BYTES 640

/* The group whose limit is the least. */
struct hew_cgroup {
    size_t limit; /* 0: none has a limit */
    char folder[HEW_CGROUP_PATH_BYTES];
    bool unified; /* version 2 */
};

/* `membership` is /proc/self/cgroup, `root` is where groups are mounted; tests name others.  NULL: the usual ones. */
struct hew_cgroup hew_cgroup_find(const char *membership, const char *root);

/* Bytes charged to the group, without the pages of files, which the system takes before it kills anyone.  0: not known. */
size_t hew_cgroup_usage(const struct hew_cgroup *group);

#endif

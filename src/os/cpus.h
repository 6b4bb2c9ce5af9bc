/* SPDX-License-Identifier: MIT */
/*
 * cpus: how many CPUs this process may really use.
 */
#ifndef HEW_OS_CPUS_H
#define HEW_OS_CPUS_H

#include "base/compiler.h"

/*
 * The least of the affinity mask and the cgroup's CPU quota (v2 cpu.max or v1 cfs quota, rounded up), at least 1.
 * Reads files by system call; allocates nothing.  A few 10 us: call once.
 */
unsigned hew_cpus_usable(void);

/* The CPU that the calling thread runs on, as of now. */
unsigned hew_cpus_current(void);

/* The quota of a cpu.max text ("max 100000", "150000 100000") in CPUs rounded up; 0 when there is none. */
unsigned hew_cpus_parse_quota(const char *text);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * cpus: how many CPUs this process may really use.
 */
#ifndef HEW_OS_CPUS_H
#define HEW_OS_CPUS_H

#include "base/compiler.h"

/*
 * The least of the affinity mask and the CPU quota of the process's container (v2 cpu.max or v1 cfs quota, rounded up; on a
 * machine with many CPUs also of its cgroup, wherever that is), at least 1.
 * Reads files by system call; allocates nothing.  5 to 30 us: call once, before the program can have forbidden it.
 */
unsigned hew_cpus_usable(void);

/* The CPU that the calling thread runs on, as of now. */
unsigned hew_cpus_current(void);

/* The quota of a cpu.max text ("max 100000", "150000 100000") in CPUs rounded up; 0 when there is none. */
unsigned hew_cpus_parse_quota(const char *text);

#endif

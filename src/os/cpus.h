/* SPDX-License-Identifier: MIT */
/*
 * cpus: the number of CPUs that this process may use.
 */
#ifndef HEW_OS_CPUS_H
#define HEW_OS_CPUS_H

#include "base/compiler.h"

/*
 * Returns the smaller of the affinity mask and the CPU quota of the process's container (v2 cpu.max or v1 cfs quota,
 * rounded up), at least 1.  On a machine with many CPUs the quota of the process's cgroup counts too, wherever the
 * cgroup is.  Reads files by system call and allocates nothing.  Takes 5 to 30 us: call it once, before the program can
 * forbid the system calls.
 */
unsigned hew_cpus_usable(void);

/* Returns the CPU that the calling thread runs on now. */
unsigned hew_cpus_current(void);

/* Parses a cpu.max text ("max 100000", "150000 100000").  Returns the quota in CPUs, rounded up; 0: there is none. */
unsigned hew_cpus_parse_quota(const char *text);

/* Returns one more than the highest number that a CPU may ever have; 0: unknown.  For tests, the same of a file's text, such as
 * "0-3,8-11\n". */
unsigned hew_cpus_possible(void);
unsigned hew_cpus_parse_list(const char *text);

#endif

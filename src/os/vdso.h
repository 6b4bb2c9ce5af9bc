/* SPDX-License-Identifier: MIT */
/*
 * vdso: reads the time and the CPU number through code that the kernel maps into each process, otherwise by a system
 * call.
 *
 * Promises  No call to libc: a preloaded library may replace clock_gettime(), and allocate in it or return another
 *           time.  Thread-safe, async-signal-safe, keeps errno.
 */
#ifndef HEW_OS_VDSO_H
#define HEW_OS_VDSO_H

#include "base/compiler.h"

#include <time.h>

/* Like clock_gettime(), for a clock that every kernel has. */
void hew_vdso_time(clockid_t clock, struct timespec *time);

/* Returns the CPU on which the thread runs; 0 if unknown. */
unsigned hew_vdso_processor(void);

#endif

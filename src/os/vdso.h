/* SPDX-License-Identifier: MIT */
/*
 * vdso: the time and the processor, by the code that the kernel maps into each process, else by a system call.
 *
 * Promises  no call to libc: a preloaded library may have taken over clock_gettime(), and allocate in it or tell another time.
 *           Thread-safe, async-signal-safe, keeps errno.
 */
#ifndef HEW_OS_VDSO_H
#define HEW_OS_VDSO_H

#include "base/compiler.h"

#include <time.h>

/* As clock_gettime() for a clock that every kernel has. */
void hew_vdso_time(clockid_t clock, struct timespec *time);

/* The processor on which the thread runs; 0 when nobody knows. */
unsigned hew_vdso_processor(void);

#endif

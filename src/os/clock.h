/* SPDX-License-Identifier: MIT */
/*
 * clock: monotonic time.  Thread-safe, keeps errno (the vdso answers without a system call).
 */
#ifndef HEW_OS_CLOCK_H
#define HEW_OS_CLOCK_H

#include "base/compiler.h"

/* Nanoseconds, precise. */
uint64_t hew_clock_ns(void);

/* Nanoseconds since 1970, for people and other programs. */
uint64_t hew_clock_wall_ns(void);

/* Milliseconds, as of the kernel's last tick (1 to 10 ms old): cheap. */
uint64_t hew_clock_ms(void);

#endif

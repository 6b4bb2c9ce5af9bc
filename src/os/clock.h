/* SPDX-License-Identifier: MIT */
/*
 * clock: monotonic time, through os/vdso.h.  Thread-safe, keeps errno.
 */
#ifndef HEW_OS_CLOCK_H
#define HEW_OS_CLOCK_H

#include "base/compiler.h"

/* Nanoseconds, precise. */
uint64_t hew_clock_ns(void);

/* Nanoseconds of CPU time used by all threads of the process, and by the calling thread.  Each is a system call. */
uint64_t hew_clock_process_ns(void);
uint64_t hew_clock_thread_ns(void);

/* Nanoseconds since 1970, for output to people and other programs. */
uint64_t hew_clock_wall_ns(void);

/* Monotonic nanoseconds at the kernel's last tick, by a system call.  A process that reads the time only this way does
 * not touch the pages of the vdso. */
uint64_t hew_clock_early_ns(void);

/* Milliseconds at the kernel's last tick (1 to 10 ms old): cheap. */
uint64_t hew_clock_ms(void);

/* Returns the shorter of two waits; 0 means forever. */
HEW_INLINE uint64_t
hew_clock_earlier(uint64_t one, uint64_t other)
{
    return one == 0 || (other != 0 && other < one) ? other : one;
}

#endif

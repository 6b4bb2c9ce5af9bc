/* SPDX-License-Identifier: MIT */
/*
 * clock: monotonic time, by os/vdso.h.  Thread-safe, keeps errno.
 */
#ifndef HEW_OS_CLOCK_H
#define HEW_OS_CLOCK_H

#include "base/compiler.h"

/* Nanoseconds, precise. */
uint64_t hew_clock_ns(void);

/* Nanoseconds of processor time that all threads of the process have had, and that the caller has: a system call each. */
uint64_t hew_clock_process_ns(void);
uint64_t hew_clock_thread_ns(void);

/* Nanoseconds since 1970, for people and other programs. */
uint64_t hew_clock_wall_ns(void);

/* The same as of the kernel's last tick, by a system call: a process that asks for the time no more than this does not
 * pay for the pages of the vdso. */
uint64_t hew_clock_early_ns(void);

/* Milliseconds, as of the kernel's last tick (1 to 10 ms old): cheap. */
uint64_t hew_clock_ms(void);

/* The shorter one of two waits; 0 is never. */
HEW_INLINE uint64_t
hew_clock_earlier(uint64_t one, uint64_t other)
{
    return one == 0 || (other != 0 && other < one) ? other : one;
}

#endif

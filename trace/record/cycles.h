/* SPDX-License-Identifier: MIT */
/* cycles: a clock that costs a few nanoseconds and has unknown speed, for detecting that time has passed. */
#ifndef HEW_TRACE_RECORD_CYCLES_H
#define HEW_TRACE_RECORD_CYCLES_H

#include "base/compiler.h"

HEW_INLINE uint64_t
hew_trace_cycles(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

#endif

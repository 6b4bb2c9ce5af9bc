/* SPDX-License-Identifier: MIT */
/* busy: processor time for those who measure it. */
#ifndef HEW_TESTS_BUSY_H
#define HEW_TESTS_BUSY_H

#include "os/clock.h"

/* A processor's time that cannot be made up passes in earnest. */
HEW_INLINE void
be_busy_ms(uint64_t ms)
{
    uint64_t end = hew_clock_process_ns() + ms * 1000000;
    while (hew_clock_process_ns() < end) {
    }
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * compiler: src/base/compiler.h, with accesses that the compiler's instrumentation would not see made visible to it.
 */
#ifndef HEW_SIMULATE_COMPILER_H
#define HEW_SIMULATE_COMPILER_H

#define hew_cpu_pause hew_cpu_pause_of_processor
#define hew_count_down hew_count_down_in_one_instruction
#include_next "base/compiler.h"
#undef hew_count_down
#undef hew_cpu_pause

void simulated_pause(void);

HEW_INLINE void
hew_cpu_pause(void)
{
    simulated_pause();
}

HEW_INLINE bool
hew_count_down(uint32_t *counter)
{
    return --*counter == 0;
}

#undef HEW_UNCHECKED_THREADS
#define HEW_UNCHECKED_THREADS

#endif

/* SPDX-License-Identifier: MIT */
/* memory: the process's anonymous memory over time, as the kernel counts it. */
#ifndef HEW_TRACE_REPLAY_MEMORY_H
#define HEW_TRACE_REPLAY_MEMORY_H

#include <stdint.h>

struct hew_memory {
    int statm;   /* /proc/self/statm */
    int samples; /* where lines go, or -1 */
    uint64_t floor;
    uint64_t peak;
    uint64_t last;
    uint64_t last_time;
    double byte_microseconds;
};

/* What is there now is the floor, and not counted. */
void hew_memory_begin(struct hew_memory *memory, int samples);

/* Called by one thread at a time; time in microseconds of the trace, which do not fall. */
void hew_memory_look(struct hew_memory *memory, uint64_t time);

#endif

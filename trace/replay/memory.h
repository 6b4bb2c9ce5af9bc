/* SPDX-License-Identifier: MIT */
/* memory: the process's anonymous memory over time, as counted by the kernel. */
#ifndef HEW_TRACE_REPLAY_MEMORY_H
#define HEW_TRACE_REPLAY_MEMORY_H

#include <stdint.h>

struct hew_memory {
    int statm;   /* /proc/self/statm */
    int samples; /* descriptor for output lines, or -1 */
    uint64_t floor;
    uint64_t peak;
    uint64_t last;
    uint64_t last_time;
    double byte_microseconds;
};

/* Current memory becomes the floor, which is not counted. */
void hew_memory_begin(struct hew_memory *memory, int samples);

/* Takes a sample.  Called by one thread at a time; time in microseconds of the trace, non-decreasing. */
void hew_memory_look(struct hew_memory *memory, uint64_t time);

#endif

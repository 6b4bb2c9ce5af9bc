/* SPDX-License-Identifier: MIT */
/*
 * samples: a copy of what is known of every sampled object that is live: its stack, size, thread and age, and the slab that
 * it would be in.
 *
 * Owned by whoever took it.  One mapping of its own, so that nothing of it stays when it is given back.
 */
#ifndef HEW_PROF_SAMPLES_H
#define HEW_PROF_SAMPLES_H

#include "alloc/utilization.h"
#include "prof/table.h"

/* One object.  Rows of one stack stand together, and have the same `frames`. */
struct hew_sample {
    const uintptr_t *frames; /* the caller of malloc first, then outwards */
    unsigned depth;
    uint64_t thread;
    uint64_t weight;  /* how many objects it stands for, in 2^-16 */
    uint64_t time_ns; /* when it was allocated, by hew_clock_ns() */
    size_t requested, usable;
    const void *place;              /* the region that is kept for it; NULL: none */
    struct hew_utilization slab;    /* around the place; all zeros without one */
    char name[HEW_PROF_NAME_BYTES]; /* the thread's; "": none */
};

struct hew_samples {
    struct hew_sample *rows;
    size_t count;
    void *memory;
    size_t memory_bytes;
};

/* False without memory.  Takes hew_prof_lock, and then, without it, the locks of bins. */
bool hew_samples_take(struct hew_samples *samples);
void hew_samples_give(struct hew_samples *samples);

#endif

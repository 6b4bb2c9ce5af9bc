/* SPDX-License-Identifier: MIT */
/*
 * samples: a copy of everything known about each live sampled object: its stack, size, thread and age, and the slab
 * that it would be in.
 *
 * Owned by the caller that took it.  It is one separate mapping, so freeing it leaves nothing behind.
 */
#ifndef HEW_PROF_SAMPLES_H
#define HEW_PROF_SAMPLES_H

#include "alloc/utilization.h"
#include "prof/table.h"

/* One object.  Rows of the same stack are adjacent and share `frames`. */
struct hew_sample {
    const uintptr_t *frames; /* innermost first, beginning with the caller of malloc */
    unsigned depth;
    uint64_t thread;
    uint64_t weight;  /* number of objects it represents, in units of 2^-16 */
    uint64_t time_ns; /* allocation time, by hew_clock_ns() */
    size_t requested, usable;
    const void *place;              /* the slab region reserved for it; NULL: none */
    struct hew_utilization slab;    /* the slab around `place`; all zeros without one */
    char name[HEW_PROF_NAME_BYTES]; /* the thread's name; "": none */
};

struct hew_samples {
    struct hew_sample *rows;
    size_t count;
    void *memory;
    size_t memory_bytes;
};

/* False without memory.  Takes hew_prof_lock, releases it, and then takes the locks of bins. */
bool hew_samples_take(struct hew_samples *samples);
void hew_samples_give(struct hew_samples *samples);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * run: replays a plan in this process, with the malloc that is loaded.
 *
 * Owns      the table of slots and the threads.  Its own memory is mapped, so the heap has only the trace's objects.
 * Promises  each operation is done once, in its thread's order; an object that passes between threads is freed after it
 *           was made; no thread is more than two windows of batches ahead of another.
 */
#ifndef HEW_TRACE_REPLAY_RUN_H
#define HEW_TRACE_REPLAY_RUN_H

#include "replay/plan.h"

enum hew_touch {
    HEW_TOUCH_NONE,
    HEW_TOUCH_FIRST,    /* the first byte of each object */
    HEW_TOUCH_RECORDED, /* a byte of as many pages as the trace records; of every page where it has no record */
    HEW_TOUCH_PAGES,    /* a byte of each page */
    HEW_TOUCH_ALL,      /* every byte */
};

struct hew_run_result {
    double seconds;
    uint64_t failed;     /* requests that returned NULL */
    uint64_t peak;       /* peak bytes of anonymous memory above the amount at the start */
    uint64_t at_end;     /* the same at the end of the run */
    double byte_seconds; /* integral of it over the trace's own time */
};

struct hew_run_options {
    enum hew_touch touch;
    bool real_time; /* at the speed of the recording */
    int samples;    /* file descriptor for lines "MICROSECONDS BYTES", or -1 */
};

/* False with a one-line message in `why`. */
bool hew_run(int file, const struct hew_plan *plan, const struct hew_run_options *options,
             struct hew_run_result *result, char why[HEW_TRACE_WHY]);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * run: replays a plan in this process, under whichever malloc it has.
 *
 * Owns      the table of slots and the threads.  What it needs itself it maps, so that the heap is the trace's alone.
 * Promises  each operation is done once, in its thread's order; an object that is handed over is freed after it was made;
 *           no thread is more than two windows of batches ahead of another.
 */
#ifndef HEW_TRACE_REPLAY_RUN_H
#define HEW_TRACE_REPLAY_RUN_H

#include "replay/plan.h"

enum hew_touch {
    HEW_TOUCH_NONE,
    HEW_TOUCH_FIRST,    /* the first byte of each object */
    HEW_TOUCH_RECORDED, /* a byte of as many pages as the trace says, of each where it says nothing */
    HEW_TOUCH_PAGES,    /* a byte of each page */
    HEW_TOUCH_ALL,      /* every byte */
};

struct hew_run_result {
    double seconds;
    uint64_t failed;     /* requests that gave NULL */
    uint64_t peak;       /* bytes of anonymous memory above what there was at the start */
    uint64_t at_end;     /* likewise */
    double byte_seconds; /* the area under it, over the trace's own time */
};

struct hew_run_options {
    enum hew_touch touch;
    bool real_time; /* at the recording's pace */
    int samples;    /* a file for lines "MICROSECONDS BYTES", or -1 */
};

/* False with one line in `why`. */
bool hew_run(int file, const struct hew_plan *plan, const struct hew_run_options *options,
             struct hew_run_result *result, char why[HEW_TRACE_WHY]);

#endif

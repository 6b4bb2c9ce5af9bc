/* SPDX-License-Identifier: MIT */
/*
 * profile: what a trace says by stack: at its peak, at its end, at moments that are asked for, and over time.
 *
 * Two passes: the first finds the peak and the highest moment of each part of time, the second stops there.
 * Writes    one JSON document, which tool/src/hew/sources/profile/trace.py reads.
 * Memory    60 bytes a stack, and 110 an object of the moment when most lived.
 */
#ifndef HEW_TRACE_PROFILE_PROFILE_H
#define HEW_TRACE_PROFILE_PROFILE_H

#include "format/reader.h"

#include <stdio.h>

#define PROFILE_MOMENTS 16

struct profile_options {
    uint64_t within;              /* see state.h */
    uint64_t at[PROFILE_MOMENTS]; /* microseconds, rising */
    unsigned at_count;
    bool over_time;
    bool by_thread;
};

/* False with one line in `why`. */
bool profile_write(const struct hew_trace *trace, const struct profile_options *options, FILE *to,
                   char why[HEW_TRACE_WHY]);

#endif

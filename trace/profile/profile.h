/* SPDX-License-Identifier: MIT */
/*
 * profile: writes a trace's memory by call stack: at its peak, at its end, at requested moments, and over time.
 *
 * It makes two passes: the first finds the peak and the highest moment of each time interval, the second stops there.
 * Writes    one JSON document, which tool/src/hew/sources/profile/trace.py reads.
 * Memory    60 bytes a stack, and 80 to 160 bytes for each object at the largest number of live objects.
 */
#ifndef HEW_TRACE_PROFILE_PROFILE_H
#define HEW_TRACE_PROFILE_PROFILE_H

#include "format/reader.h"

#include <stdio.h>

#define PROFILE_MOMENTS 16

struct profile_options {
    uint64_t within;              /* see state.h */
    uint64_t at[PROFILE_MOMENTS]; /* microseconds, ascending */
    unsigned at_count;
    bool over_time;
    bool by_thread;
};

/* False with a one-line message in `why`. */
bool profile_write(const struct hew_trace *trace, const struct profile_options *options, FILE *to,
                   char why[HEW_TRACE_WHY]);

#endif

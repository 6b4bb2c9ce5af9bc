/* SPDX-License-Identifier: MIT */
/* report: writes the measurements as one JSON document to standard output.  docs/policies.md explains the figures. */
#ifndef HEW_TRACE_SIMULATE_REPORT_H
#define HEW_TRACE_SIMULATE_REPORT_H

#include "simulate/course.h"
#include "simulate/sizes.h"

void report_course(const struct course *course, const struct hew_trace *trace, const struct hew_trace_merge *merge);
/* Only the tables of classes. */
void report_tables(void);
void report_sizes(const struct sizes *sizes, const struct hew_trace *trace, const struct hew_trace_merge *merge);

#endif

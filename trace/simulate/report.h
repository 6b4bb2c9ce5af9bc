/* SPDX-License-Identifier: MIT */
/* report: what was measured, as one JSON document on standard output.  docs/policies.md says what the figures are. */
#ifndef HEW_TRACE_SIMULATE_REPORT_H
#define HEW_TRACE_SIMULATE_REPORT_H

#include "simulate/course.h"
#include "simulate/sizes.h"

void report_course(const struct course *course, const struct hew_trace *trace, const struct hew_trace_merge *merge);
/* The tables of classes alone. */
void report_tables(void);
void report_sizes(const struct sizes *sizes, const struct hew_trace *trace, const struct hew_trace_merge *merge);

#endif

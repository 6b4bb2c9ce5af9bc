/* SPDX-License-Identifier: MIT */
/*
 * parts: divides a run into equal time intervals and keeps the highest moment of each.  The run's length need not be
 * known in advance.
 *
 * Promises  128 to 256 intervals once the run lasts that many microseconds; as time goes on, pairs of intervals are
 *           merged.
 */
#ifndef HEW_TRACE_PROFILE_PARTS_H
#define HEW_TRACE_PROFILE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#define PROFILE_PARTS 256u

struct profile_parts {
    unsigned lg_length;                /* log2 of microseconds */
    uint32_t count;                    /* of intervals that have begun */
    uint64_t bytes[PROFILE_PARTS];     /* most live bytes */
    uint64_t operation[PROFILE_PARTS]; /* after which they were live, counted from 1; 0: none in the interval */
};

void profile_parts_begin(struct profile_parts *parts);

/* After an operation. */
void profile_parts_take(struct profile_parts *parts, uint64_t time, uint64_t operation, uint64_t bytes);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * parts: a run cut into equal parts of time whose length is not known before its end, each with its highest moment.
 *
 * Promises  128 to 256 parts once the run is as long as that many microseconds; where time goes on, two become one.
 */
#ifndef HEW_TRACE_PROFILE_PARTS_H
#define HEW_TRACE_PROFILE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#define PROFILE_PARTS 256u

struct profile_parts {
    uint64_t length;                   /* microseconds */
    uint32_t count;                    /* of parts that have begun */
    uint64_t bytes[PROFILE_PARTS];     /* most that lived */
    uint64_t operation[PROFILE_PARTS]; /* after which it was so, counted from 1; 0: nothing happened in it */
};

void profile_parts_begin(struct profile_parts *parts);

/* After an operation. */
void profile_parts_take(struct profile_parts *parts, uint64_t time, uint64_t operation, uint64_t bytes);

#endif

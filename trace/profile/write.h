/* SPDX-License-Identifier: MIT */
/*
 * write: writes the document of `hew-replay profile`, one moment at a time.
 *
 * Lists of stacks are flat.  Each stack takes seven numbers: its node, then counts and bytes of made, live and
 * temporary objects.
 */
#ifndef HEW_TRACE_PROFILE_WRITE_H
#define HEW_TRACE_PROFILE_WRITE_H

#include "profile/parts.h"
#include "profile/state.h"

#include <stdio.h>

struct profile_writer {
    FILE *to;
    const uint8_t *told; /* by node: it has its own row in the output over time, outside the sum of the rest */
};

/* `first` has processed the whole trace. */
void profile_write_begin(struct profile_writer *writer, const struct profile_state *first,
                         const struct profile_parts *parts);

/* Writes a moment with all its stacks; `time` in microseconds. */
void profile_write_moment(struct profile_writer *writer, const struct profile_state *state, const char *name,
                          uint64_t time);

/* Writes the highest moment of a time interval with the stacks changed since the previous one; the end counts as one
 * more interval. */
void profile_write_part(struct profile_writer *writer, struct profile_state *state, uint32_t part);

/* Also writes the lost objects by stack, if they are known. */
void profile_write_end(struct profile_writer *writer, const struct profile_state *state);

#endif

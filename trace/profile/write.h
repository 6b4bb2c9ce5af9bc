/* SPDX-License-Identifier: MIT */
/*
 * write: the document of `hew-replay profile`, as its moments come.
 *
 * Lists of stacks are flat: a stack takes seven numbers, its node and the counts and bytes of what was made, lives and was temporary.
 */
#ifndef HEW_TRACE_PROFILE_WRITE_H
#define HEW_TRACE_PROFILE_WRITE_H

#include "profile/parts.h"
#include "profile/state.h"

#include <stdio.h>

struct profile_writer {
    FILE *to;
    const uint8_t *told; /* by node: it stands by itself in what is written over time, not among the rest */
};

/* `first` has been through the whole trace. */
void profile_write_begin(struct profile_writer *writer, const struct profile_state *first,
                         const struct profile_parts *parts);

/* A moment with all its stacks; `time` in microseconds. */
void profile_write_moment(struct profile_writer *writer, const struct profile_state *state, const char *name,
                          uint64_t time);

/* The highest moment of a part of time, and as a part more the end; with the stacks that have changed since the one before. */
void profile_write_part(struct profile_writer *writer, struct profile_state *state, uint32_t part);

void profile_write_end(struct profile_writer *writer, const struct profile_state *state);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * state: what lives, what was made and what was temporary, by stack, after each operation of a trace.
 *
 * Owns      an account for each node of the trace's tree, and what is known of each object that lives, by malloc.
 * Promises  exact sums.  An object counts with the bytes that were asked for; a realloc ends one and makes one.
 * Not here  which moments are looked at: profile.c.
 */
#ifndef HEW_TRACE_PROFILE_STATE_H
#define HEW_TRACE_PROFILE_STATE_H

#include "format/reader.h"

#define PROFILE_POWERS 65 /* sizes and times by their powers of two: 0, 1, 2 to 3, 4 to 7 ... */

struct profile_sum {
    uint64_t count, bytes;
};

/* Of one stack, or of all. */
struct profile_account {
    struct profile_sum made, live, temporary;
    uint64_t most; /* live bytes at most */
    bool changed;  /* since profile_state_take_changed() */
};

struct profile_object {
    uint32_t node;
    uint32_t part; /* of time, in which it was made */
    uint64_t born; /* operations of its thread before it */
    uint64_t time; /* microseconds */
};

struct profile_state {
    const struct hew_trace *trace;
    const struct profile_threads *threads; /* whose stacks are told apart; see threads.h */
    uint64_t
        within; /* an object is temporary if its own thread frees it as the so many-th operation after it, or sooner */
    struct profile_account *accounts; /* by node */
    struct profile_account all;
    struct profile_object *objects; /* by slot */
    size_t object_room;
    uint64_t *operations_of; /* by thread */
    uint32_t *changed;       /* nodes */
    size_t changed_count;
    uint64_t operations, time;
    uint64_t peak_operation, peak_time, peak_objects; /* of the first moment when most bytes lived */
    struct profile_sum live_by_size[PROFILE_POWERS], made_by_size[PROFILE_POWERS], ended_by_age[PROFILE_POWERS];
    struct profile_sum *live_by_part; /* by the part of time in which they were made; NULL: not counted */
    uint32_t part;                    /* of time, that it is in now */
};

/* False: no memory. */
bool profile_state_begin(struct profile_state *state, const struct hew_trace *trace, uint64_t within);
void profile_state_end(struct profile_state *state);

/* True for operations that make or end an object; false and `failed`: no memory. */
bool profile_state_take(struct profile_state *state, const struct hew_trace_operation *operation, bool *failed);

/* The number of its power of two: 0 for 0, else 1 + log2. */
unsigned profile_power(uint64_t value);

#endif

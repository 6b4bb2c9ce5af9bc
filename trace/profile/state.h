/* SPDX-License-Identifier: MIT */
/*
 * state: live, made and temporary memory by stack, after each operation of a trace.
 *
 * Owns      an account for each node of the trace's tree, and the live objects, by malloc: 80 to 160 bytes an object at
 *           the largest number of live objects, and for a moment half more while their table grows.
 * Promises  exact sums.  An object counts with its requested bytes; a realloc ends one object and makes another.  In a
 *           sample by bytes, an object of s bytes counts 1/p times, with p = 1 - e^(-s / sample_bytes): sums are unbiased.
 * Not here  which moments are written: profile.c.
 */
#ifndef HEW_TRACE_PROFILE_STATE_H
#define HEW_TRACE_PROFILE_STATE_H

#include "format/table.h"

#define PROFILE_POWERS 65 /* buckets of sizes and times by powers of two: 0, 1, 2 to 3, 4 to 7 ... */

#define PROFILE_UNIT (UINT64_C(1) << 16)

struct profile_sum {
    uint64_t count, bytes; /* `count` in units of 1 / state->unit */
};

/* Of one stack, or of all. */
struct profile_account {
    struct profile_sum made, live, temporary;
    uint64_t most; /* largest number of live bytes */
    bool changed;  /* since profile_state_take_changed() */
};

/* A live object.  All that the profile keeps of it is in one entry: a cache line or two. */
struct profile_object {
    struct hew_trace_key key; /* value: the node of its stack */
    uint64_t size;
    uint64_t born; /* its thread's operations before it, recorded or not */
    uint64_t time; /* microseconds */
};

/* What is known of a thread's name. */
struct profile_thread {
    uint32_t tid; /* 0: no name */
    bool ended;
    char name[HEW_TRACE_NAME_MAX + 1];
};

struct profile_state {
    const struct hew_trace *trace;
    const struct profile_threads *threads; /* maps stacks to per-thread stacks; see threads.h */
    uint64_t within; /* an object is temporary if its own thread frees it within this many operations */
    struct profile_account *accounts; /* by node */
    struct profile_account all;
    struct hew_trace_table objects; /* struct profile_object: the live ones */
    uint64_t unit;                  /* what an object counts in sums: 1, or in a sample PROFILE_UNIT */
    uint64_t *operations_of;        /* by thread: recorded ones */
    uint64_t *passed_of;            /* by thread: others, of a sample */
    struct profile_thread *named;   /* by thread */
    uint32_t *changed;              /* nodes */
    size_t changed_count;
    uint64_t operations, time;
    uint64_t peak_operation, peak_time, peak_objects; /* of the first moment with the most live bytes */
    struct profile_sum live_by_size[PROFILE_POWERS], made_by_size[PROFILE_POWERS], ended_by_age[PROFILE_POWERS];
    struct profile_sum *live_by_part; /* by interval in which they were made; NULL: no sums by size, age and part */
    unsigned lg_part;                 /* log2 of an interval's microseconds */
    struct profile_sum *lost;         /* by node: live objects that nothing points to; NULL: not known */
};

/* False: no memory. */
bool profile_state_begin(struct profile_state *state, const struct hew_trace *trace, uint64_t within);
void profile_state_end(struct profile_state *state);

/* Operations are those of a bare merge.  True for those that make or end an object; false for others, for one that frees
 * an object which was never made (lost with a damaged block), and with `failed` set: no memory. */
bool profile_state_take(struct profile_state *state, const struct hew_trace_operation *operation, bool *failed);

/* Sums up the trace's lost objects at the end of the run, and takes them out of the live ones.  False: no memory. */
bool profile_state_lose(struct profile_state *state);

/* All operations of the run so far, recorded or not. */
uint64_t profile_state_operations(const struct profile_state *state);

/* The index of the value's bucket: 0 for 0, else 1 + log2. */
unsigned profile_power(uint64_t value);

#endif

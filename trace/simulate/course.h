/* SPDX-License-Identifier: MIT */
/*
 * course: runs a trace under several policies at once, and measures them.
 *
 * One pass over the trace feeds every policy.  Memory: 40 bytes for each policy and object at the largest number of
 * live objects, 2 for each page that a policy used, and 1024 samples.
 */
#ifndef HEW_TRACE_SIMULATE_COURSE_H
#define HEW_TRACE_SIMULATE_COURSE_H

#include "format/reader.h"
#include "simulate/policy.h"
#include "simulate/residence.h"

#define COURSE_SAMPLES 1024
#define COURSE_POLICIES 24

struct course_sample {
    uint64_t gross;
    uint64_t heap;
    uint64_t resident;
};

struct course_runner {
    struct policy *policy;
    struct policy_place *places; /* by slot */
    uint64_t room;
    struct residence residence;
    struct course_sample now;
    struct course_sample *samples;
    uint64_t peak_heap;
    uint64_t live_at_peak;
    uint64_t gross_at_peak;
    uint64_t peak_resident;
    double gross_sum; /* sum over operations */
    double heap_sum;
    double resident_sum;
    bool failed; /* out of memory or of addresses */
};

struct course_moment {
    uint64_t operation;
    uint64_t microseconds;
    uint64_t live;
    uint64_t objects;
};

struct course {
    struct course_runner runners[COURSE_POLICIES];
    size_t count;
    struct course_moment now;
    struct course_moment moments[COURSE_SAMPLES];
    size_t samples;
    uint64_t stride; /* operations between two samples */
    uint64_t peak_live;
    uint64_t largest;   /* request */
    uint64_t allocated; /* total bytes */
    double live_sum;
    uint64_t left_out; /* requests beyond POLICY_SIZE_MAX */
    uint64_t reallocations;
};

/* False: too many policies, or no memory.  The course owns the policy and ends it. */
bool course_add(struct course *course, struct policy *policy);

/* Processes one operation of the merge, of any kind. */
void course_take(struct course *course, const struct hew_trace_operation *operation);

/* Takes the last sample. */
void course_finish(struct course *course);
void course_end(struct course *course);

#endif

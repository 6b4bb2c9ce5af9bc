/* SPDX-License-Identifier: MIT */
/*
 * objects: the live objects of a trace with what the profile keeps of each, in one table.
 *
 * Owns      the table, by malloc: 80 to 160 bytes an object at the largest number of live objects, and for a moment half
 *           more while it grows.
 * Promises  one cache line or two for an object: a trace of 10^9 operations spends its time here.
 */
#ifndef HEW_TRACE_PROFILE_OBJECTS_H
#define HEW_TRACE_PROFILE_OBJECTS_H

#include "format/reader.h"

struct profile_object {
    uint64_t number;
    uint64_t size;
    uint64_t born;   /* its thread's operations before it, recorded or not */
    uint64_t time;   /* microseconds */
    uint32_t thread; /* plus 1; 0: the entry is empty */
    uint32_t node;
};

struct profile_objects {
    struct profile_object *entries;
    size_t mask;
    size_t count;
};

/* False: no memory. */
bool profile_objects_begin(struct profile_objects *objects);
void profile_objects_end(struct profile_objects *objects);

/* An entry for the object, whose other fields the caller sets before the next call; in a damaged trace it may have been
 * live already, and is replaced.  NULL: no memory. */
struct profile_object *profile_objects_add(struct profile_objects *objects, struct hew_trace_object object);

/* Takes the object out, with a copy in `taken`.  False: it is not live. */
bool profile_objects_take(struct profile_objects *objects, struct hew_trace_object object,
                          struct profile_object *taken);

/* Has the memory of the object's entry brought near, for a call that follows soon. */
void profile_objects_prefetch(const struct profile_objects *objects, struct hew_trace_object object);

#endif

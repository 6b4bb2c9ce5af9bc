/* SPDX-License-Identifier: MIT */
/*
 * event: records of single sampled objects from allocation to free: a list of the most recent ones, and a log of all.
 *
 * Owns      the list of recent samples (experimental.prof_recent) and the log (prof.log_start) of the objects that were
 *           allocated and freed while it ran.  The object, the list and the log each hold a reference to an event; the
 *           last one frees it.
 * Promises  nothing is recorded while neither is enabled; both are written as JSON in jemalloc's form.
 * Locks     hew_event_lock (rank: event, inside all but meta), taken inside; not held while a file is written or a
 *           function of the program is called.
 */
#ifndef HEW_PROF_EVENT_H
#define HEW_PROF_EVENT_H

#include "base/list.h"
#include "base/text.h"
#include "os/mutex.h"

#include <sys/types.h>

#define HEW_EVENT_NAME 64

extern struct hew_mutex hew_event_lock;

/* The allocation or the free of an object. */
struct hew_event_end {
    uint64_t time_ns, thread;
    char name[HEW_EVENT_NAME]; /* the thread's */
    unsigned depth;
    uintptr_t *frames;
};

struct hew_event {
    struct hew_list recent;   /* link in the list of recent samples */
    struct hew_event *logged; /* the next older event of the log */
    unsigned holders;
    bool listed, freed;
    uint64_t log; /* the number of the log in which the object was allocated; 0: none */
    size_t size, usable;
    struct hew_event_end begin, end;
};

/* Whether the list or the log is enabled; relaxed. */
bool hew_event_wanted(void);

/* A new event, referenced by its object.  NULL when neither list nor log is enabled, and without memory. */
struct hew_event *hew_event_begin(size_t size, size_t usable, const struct hew_event_end *begin);

/* The object has been freed and drops its reference.  `end` may be NULL: the place of the free is unknown. */
void hew_event_end(struct hew_event *event, const struct hew_event_end *end);

/* The current time, by the clock that prof_time_resolution selects. */
uint64_t hew_event_now_ns(void);

/* Capacity of the list of recent samples; -1: unlimited. */
ssize_t hew_event_recent_most(void);
void hew_event_keep_recent(ssize_t most);

/* Writes the recent samples as JSON text through `write`.  False without memory. */
bool hew_event_tell_recent(void (*write)(void *context, const char *text), void *context, uint64_t interval);

/* Begins a log; false when one is running.  The second ends the log and writes it to `path`; false when none was
 * running, or on a write error. */
bool hew_event_log_begin(void);
bool hew_event_log_end(const char *path);

#endif

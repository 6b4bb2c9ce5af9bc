/* SPDX-License-Identifier: MIT */
/*
 * event: single sampled objects, from their allocation to their free: the most recent ones, and a log of all.
 *
 * Owns      the list of recent samples (experimental.prof_recent) and the log (prof.log_start): objects that were
 *           allocated and freed while it ran.  An event is held by its object, by the list and by the log, whichever last.
 * Promises  nothing is kept while neither is wanted; both are told as JSON of jemalloc's form.
 * Locks     hew_event_lock (rank: event, inside all but meta), inside; not held while a file is written or a program's
 *           function is called.
 */
#ifndef HEW_PROF_EVENT_H
#define HEW_PROF_EVENT_H

#include "base/list.h"
#include "base/text.h"
#include "os/mutex.h"

#include <sys/types.h>

#define HEW_EVENT_NAME 64

extern struct hew_mutex hew_event_lock;

/* One end of an object's life. */
struct hew_event_end {
    uint64_t time_ns, thread;
    char name[HEW_EVENT_NAME]; /* the thread's */
    unsigned depth;
    uintptr_t *frames;
};

struct hew_event {
    struct hew_list recent;   /* the list, while it is on it */
    struct hew_event *logged; /* the next older one of the log */
    unsigned holders;
    bool listed, freed;
    uint64_t log; /* the number of the log in which it began; 0: none */
    size_t size, usable;
    struct hew_event_end begin, end;
};

/* Whether somebody wants to know of samples; relaxed. */
bool hew_event_wanted(void);

/* A new event, which its object holds; NULL when nobody wants one, and without memory. */
struct hew_event *hew_event_begin(size_t size, size_t usable, const struct hew_event_end *begin);

/* The object of the event is gone, and holds it no more.  `end` may be NULL: it is not known where. */
void hew_event_end(struct hew_event *event, const struct hew_event_end *end);

/* Now, by the clock that prof_time_resolution asks for. */
uint64_t hew_event_now_ns(void);

/* How many recent samples are kept; -1 all. */
ssize_t hew_event_recent_most(void);
void hew_event_keep_recent(ssize_t most);

/* The recent samples as text, through `write`.  False without memory. */
bool hew_event_tell_recent(void (*write)(void *context, const char *text), void *context, uint64_t interval);

/* Begins a log; false when one runs.  Ends it, and writes it into `path`; false when none ran, or it cannot be written. */
bool hew_event_log_begin(void);
bool hew_event_log_end(const char *path);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * pressure: near a limit of memory, what is free goes back before more is taken.
 *
 * Owns      what is known of the limits: the settings limit and limit_hard, and the control group's.
 * Promises  far from a limit nothing is read and nothing given back; without one nothing is counted.
 * Not here  who counts: page/bound.h.  What the system's refusal leads to: serve.c.
 */
#ifndef HEW_ALLOC_PRESSURE_H
#define HEW_ALLOC_PRESSURE_H

#include "os/cgroup.h"
#include "page/bound.h"

/* The settings are known: their limits hold from now on. */
void hew_pressure_begin(void);

/* Looks for the control group's limit and reads its files when usage is near: not once the program has forbidden itself system
 * calls.  `group`: a test's own, NULL: the process's. */
void hew_pressure_find(const struct hew_cgroup *group);
void hew_pressure_read_no_more(void);

/* `size` bytes more are wanted: looks how near the limit is, and returns what it can when that is near. */
void hew_pressure_look(size_t size);

/* By who returns idle memory now and then: how much of it may stay, where a limit was less than a quarter away at the last look. */
void hew_pressure_round(void);

/* Before a large request is served. */
HEW_INLINE void
hew_pressure_before(size_t size)
{
    if (hew_page_is_bounded() && atomic_load_explicit(&hew_page_bound.held, memory_order_relaxed) + (ptrdiff_t)size >=
                                     atomic_load_explicit(&hew_page_bound.look, memory_order_relaxed)) {
        hew_pressure_look(size);
    }
}

/* What kept caches, the thread's own magazines and the depots hold goes to its slabs and page heaps. */
void hew_pressure_empty_caches(void);

/* Everything free that no other thread keeps at hand goes back to the system; how many bytes it was. */
size_t hew_pressure_return_all(void);

/* In a fork's child: nobody else looks. */
void hew_pressure_after_fork(void);

struct hew_pressure_counts {
    size_t limit;    /* the least of the limits; 0: none */
    size_t held;     /* bytes in use, dirty or muzzy, at the last look or as counted since */
    size_t looks;    /* how often somebody looked */
    size_t relieved; /* how often memory was given back for it */
    size_t returned; /* bytes that were */
    size_t purged;   /* bytes that the last return of everything gave back, whoever asked for it */
};
struct hew_pressure_counts hew_pressure_counts(void);

#endif

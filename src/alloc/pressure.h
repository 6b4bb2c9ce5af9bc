/* SPDX-License-Identifier: MIT */
/*
 * pressure: near a memory limit, returns free memory before the heap takes more.
 *
 * Owns      The known limits: the settings limit and limit_hard, and the limit of the control group.
 * Promises  Far from a limit it reads and returns nothing.  Without a limit nothing is counted.
 * Not here  The counting: page/bound.h.  The response to a refusal by the system: request.c.
 */
#ifndef HEW_ALLOC_PRESSURE_H
#define HEW_ALLOC_PRESSURE_H

#include "os/cgroup.h"
#include "page/bound.h"

/* Applies the limits of the settings; called once they are known. */
void hew_pressure_begin(void);

/* hew_pressure_find() finds the control group's limit; its files are then read when usage is near it.  `group`: a
 * test's own; NULL: the process's.  After hew_pressure_read_no_more() no file is read: the program has forbidden itself
 * system calls. */
void hew_pressure_find(const struct hew_cgroup *group);
void hew_pressure_read_no_more(void);

/* A thread wants `size` bytes more.  Checks the distance to the limit, and returns free memory if the limit is near. */
void hew_pressure_look(size_t size);

/* Called periodically by the thread that returns idle memory.  If less than a quarter of a limit was left at the last
 * check, it updates how much idle memory may stay. */
void hew_pressure_round(void);

/* Call before serving a large request. */
HEW_INLINE void
hew_pressure_before(size_t size)
{
    if (hew_page_is_bounded() && atomic_load_explicit(&hew_page_bound.held, memory_order_relaxed) + (ptrdiff_t)size >=
                                     atomic_load_explicit(&hew_page_bound.look, memory_order_relaxed)) {
        hew_pressure_look(size);
    }
}

/* Flushes the recycled thread caches, the calling thread's magazines and the per-CPU caches to the slabs and page
 * heaps. */
void hew_pressure_empty_caches(void);

/* Returns to the system all free memory that no other thread caches.  Returns the number of bytes. */
size_t hew_pressure_return_all(void);

/* In a fork's child: no other thread is checking. */
void hew_pressure_after_fork(void);

struct hew_pressure_counts {
    size_t limit;    /* the smallest limit; 0: none */
    size_t held;     /* bytes in use, dirty or muzzy, at the last check or as counted since */
    size_t looks;    /* checks of the distance to the limit */
    size_t relieved; /* checks that returned memory */
    size_t returned; /* bytes that they returned */
    size_t purged;   /* bytes that the last return of all free memory gave back, whatever its cause */
};
struct hew_pressure_counts hew_pressure_counts(void);

#endif

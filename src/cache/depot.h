/* SPDX-License-Identifier: MIT */
/*
 * depot: free objects between threads' magazines and the slabs: the second level of the cache.
 *
 * For each CPU and class a ring of addresses.  A magazine that runs empty takes a batch from the ring of the CPU that its
 * thread runs on, a full one leaves a batch there: a copy of some words under the ring's mark, whatever the number of threads.  So
 * threads need few objects of their own, those that run find many one step away, and what one thread has freed
 * is used by the next one while it is still in that CPU's caches.
 *
 *     magazine (a thread's) <-> depot (a CPU's) <-> slabs and extents (an arena's)
 *
 * Owns      objects that no program and no magazine holds, as addresses; they are never read or written here.
 * Promises  malloc and free never wait for a mark: a thread that finds it held goes on to the next level.  A CPU's depot holds
 *           about hew_budget_depot() bytes at most; objects that no thread took between two visits of its hand return to
 *           their owners.
 * Locks     a mark for each ring: ring.h.
 * Why       magazines and depots: J. Bonwick and J. Adams, "Magazines and Vmem", USENIX 2001.  Measured against other shapes in
 *           docs/decisions/0041-two-levels.md.
 */
#ifndef HEW_CACHE_DEPOT_H
#define HEW_CACHE_DEPOT_H

#include "cache/cache.h"

/* What passed by, summed over CPUs: relaxed. */
struct hew_depot_counts {
    uint64_t takes, gives;     /* batches that went to magazines, and came from them */
    uint64_t misses, refusals; /* requests for a batch that found none; batches for which there was no room */
    size_t bytes;              /* held now */
    size_t depots;             /* that exist */
};

/* The number of the depot of the CPU that the caller runs on. */
unsigned hew_depot_here(void);

/* Up to `wanted` objects of class `code`, written from `objects` on, the last one to be used first: from the depot `own`, or
 * another one.  Returns how many. */
unsigned hew_depot_take(unsigned own, unsigned code, void **objects, unsigned wanted);

/* The depot `own` takes over objects of a class, the oldest first; those for which there is no room go back to their owners. */
void hew_depot_give(unsigned own, unsigned code, void **objects, unsigned count);

/* Whether the object is the one of its class that the depot `own` was given last: it is free then.  False also when another
 * thread is at work on that class. */
bool hew_depot_newest_is(unsigned own, unsigned code, const void *object);

/* Returns to their owners the objects that no thread took since the last call; with `all` every object.  By any thread; waits
 * for threads at work on a depot.  False: the depots are empty. */
bool hew_depot_drain(bool all);

/* Objects of a class in all depots. */
size_t hew_depot_held(unsigned code);

struct hew_depot_counts hew_depot_counts(void);

/* By the thread that has closed the gate: returns when no thread works on a depot, and none will.  Not so in a signal handler
 * that has interrupted the work of its own thread. */
void hew_depot_settle(void);

/* In a fork's child: a ring that is still being worked on begins anew; what was in it is lost to the child. */
void hew_depot_after_fork(void);

#endif

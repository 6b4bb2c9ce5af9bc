/* SPDX-License-Identifier: MIT */
/*
 * gather: reads the owners' counters into one arena's numbers, and adds numbers up.
 *
 * Takes     each owner's lock in turn, only while its counters are read.
 * Called    under hew_stats_lock.
 */
#ifndef HEW_STATS_GATHER_H
#define HEW_STATS_GATHER_H

#include "stats/fields.h"

/* Reads the arena's own counters except pages; hew_gather_caches() adds the thread caches. */
void hew_gather_arena(struct hew_arena *arena, struct hew_stats_arena *into);

/* Reads the arena's pages.  Arenas that share a heap each count their own slabs and objects; the heap's owner counts
 * the remainder and all idle pages.  Call it after hew_gather_arena() for all `count` arenas; arenas[i] may be NULL. */
void hew_gather_pages(struct hew_arena *arena, struct hew_stats_arena *into, struct hew_stats_arena *const *arenas,
                      unsigned count);

/* Adds the requests of ended threads, which no cache counts. */
void hew_gather_requests(const struct hew_arena *arena, struct hew_stats_arena *into);

/* Adds the requests of live threads and the contents of their caches; arenas[i] may be NULL. */
void hew_gather_caches(struct hew_stats_arena *const *arenas, unsigned count);

/* Reads the per-CPU caches.  Their objects may belong to any arena: they are added to tcache_bytes of `first`. */
void hew_gather_depot(struct hew_stats_depot *into, struct hew_stats_arena *first);

/* Computes the arena's totals over its classes; call it last. */
void hew_gather_finish(struct hew_stats_arena *arena);

/* Reads the counters of a lock.  The first function takes the lock; for the second the caller holds it. */
void hew_gather_mutex(struct hew_mutex *mutex, struct hew_stats_mutex *into);
void hew_gather_held_mutex(const struct hew_mutex *mutex, struct hew_stats_mutex *into);

/* into += from; each field's `merge` says how. */
void hew_gather_merge(struct hew_stats_arena *into, const struct hew_stats_arena *from);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * gather: reads the owners' counters into one arena's numbers, and sums numbers up.
 *
 * Takes     each owner's lock in turn, for as long as its own counters take to read.
 * Called    under hew_stats_lock.
 */
#ifndef HEW_STATS_GATHER_H
#define HEW_STATS_GATHER_H

#include "stats/fields.h"

/* Everything that the arena itself counts, pages excepted; what thread caches know is added by hew_gather_caches(). */
void hew_gather_arena(struct hew_arena *arena, struct hew_stats_arena *into);

/* The arena's pages.  Arenas that share a heap have their own slabs and objects; the owner has what is left, and all that is idle.
 * After hew_gather_arena() for all `count` arenas; arenas[i] may be NULL. */
void hew_gather_pages(struct hew_arena *arena, struct hew_stats_arena *into, struct hew_stats_arena *const *arenas,
                      unsigned count);

/* Adds requests that threads made which are gone, and that no cache counts. */
void hew_gather_requests(const struct hew_arena *arena, struct hew_stats_arena *into);

/* Adds the requests of all threads, and what their caches hold; arenas[i] may be NULL. */
void hew_gather_caches(struct hew_stats_arena *const *arenas, unsigned count);

/* The depots.  What they hold may be any arena's: it is added to tcache_bytes of the `first` one. */
void hew_gather_depot(struct hew_stats_depot *into, struct hew_stats_arena *first);

/* The arena's totals over its classes, once everything is in. */
void hew_gather_finish(struct hew_stats_arena *arena);

/* Counters of a lock, which the first one takes, and the caller of the second one holds. */
void hew_gather_mutex(struct hew_mutex *mutex, struct hew_stats_mutex *into);
void hew_gather_held_mutex(const struct hew_mutex *mutex, struct hew_stats_mutex *into);

/* into += from, number by number as each field's `merge` says. */
void hew_gather_merge(struct hew_stats_arena *into, const struct hew_stats_arena *from);

#endif

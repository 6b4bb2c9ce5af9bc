/* SPDX-License-Identifier: MIT */
/*
 * snapshot: all numbers as of one moment, the epoch; what stats.* and the reports read.
 *
 * Owns      the snapshot's memory: some 17 KB for each arena that exists, never given back.
 * Promises  a snapshot agrees with itself even while threads work: allocated <= active, active + metadata <= resident,
 *           nothing is negative, a sum over arenas is the sum of what each arena shows.
 * Locks     hew_stats_lock (rank: stats, inside hew_dump_lock and hew_ctl_lock only); the others are taken under it, in turn.
 *           Never call in while holding a lock of ours.
 * Not here  what it looks like: report.h.  mallctl's names: control/mallctl/ctl_stats.c.
 */
#ifndef HEW_STATS_SNAPSHOT_H
#define HEW_STATS_SNAPSHOT_H

#include "stats/fields.h"
#include "stats/outside.h"

/* Arena numbers of mallctl that stand for many. */
#define HEW_STATS_ALL 4096u
#define HEW_STATS_DESTROYED 4097u

extern struct hew_mutex hew_stats_lock;

/* Takes a snapshot.  False without memory for it: the former one stays. */
bool hew_stats_take(void);

/* The number of the snapshot in force, from 1 on; it is taken if there is none yet.  0: no memory. */
uint64_t hew_stats_epoch(void);

/* The numbers of the whole process, of its depots, and of a global lock; of the snapshot in force, or 0 without one. */
struct hew_stats_totals hew_stats_totals(void);
struct hew_stats_depot hew_stats_depot(void);
struct hew_stats_mutex hew_stats_global_mutex(unsigned mutex);

/* Whether there is such an arena: an index, HEW_STATS_ALL (also as the number of arenas) or HEW_STATS_DESTROYED. */
bool hew_stats_has_arena(unsigned index);

/* Word `offset` bytes into the arena's struct.  False when there is no such arena. */
bool hew_stats_arena_number(unsigned index, size_t offset, uint64_t *number);

/* The whole of an arena.  False when there is no such arena. */
bool hew_stats_copy_arena(unsigned index, struct hew_stats_arena *into);

/* All counts of locks begin anew. */
void hew_stats_reset_mutexes(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * snapshot: all numbers as of one moment, the epoch.  stats.* and the reports read it.
 *
 * Owns      the snapshot's memory: some 17 KB for each arena that exists, never given back.
 * Promises  a snapshot is consistent even while threads work: allocated <= active, active + metadata <= resident,
 *           nothing is negative, a sum over arenas equals the sum of the arenas' numbers.
 * Locks     hew_stats_lock (rank: stats, inside hew_dump_lock and hew_ctl_lock only); other locks are taken under it,
 *           one at a time.  The caller must not hold a lock of hew.
 * Not here  the output format: report.h.  mallctl's names: control/mallctl/ctl_stats.c.
 */
#ifndef HEW_STATS_SNAPSHOT_H
#define HEW_STATS_SNAPSHOT_H

#include "stats/fields.h"
#include "stats/outside.h"

/* mallctl's arena numbers that stand for several arenas. */
#define HEW_STATS_ALL 4096u
#define HEW_STATS_DESTROYED 4097u

extern struct hew_mutex hew_stats_lock;

/* Takes a snapshot.  False without memory for it: the previous one stays. */
bool hew_stats_take(void);

/* The number of the current snapshot, from 1 on.  Takes one if there is none yet.  0: no memory. */
uint64_t hew_stats_epoch(void);

/* Numbers of the whole process, of its per-CPU caches, and of a global lock, from the current snapshot; 0 without
 * one. */
struct hew_stats_totals hew_stats_totals(void);
struct hew_stats_depot hew_stats_depot(void);
struct hew_stats_mutex hew_stats_global_mutex(unsigned mutex);

/* Whether the arena exists: `index` is an arena's, HEW_STATS_ALL (also the number of arenas) or HEW_STATS_DESTROYED. */
bool hew_stats_has_arena(unsigned index);

/* Reads the word at `offset` bytes in the arena's struct.  False when the arena does not exist. */
bool hew_stats_arena_number(unsigned index, size_t offset, uint64_t *number);

/* Copies all numbers of an arena.  False when it does not exist. */
bool hew_stats_copy_arena(unsigned index, struct hew_stats_arena *into);

/* Resets the counters of all locks. */
void hew_stats_reset_mutexes(void);

#endif

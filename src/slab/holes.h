/* SPDX-License-Identifier: MIT */
/*
 * holes: returns the memory of pieces of slabs that stay in use.
 *
 * Promises  a slab's pieces are returned once its count of free regions has not changed for a time.  That time lies on
 *           the decay curve of its arena: at most dirty_decay_ms plus muzzy_decay_ms, since a hole cannot be muzzy.
 *           -1: never.  Skipped are bins with less than a 16th free, slabs of the reserve, and arenas with extent
 *           hooks.
 * Locks     hew_holes_lock (rank: holes) while regions are marked as taken, so that fork() finds none marked.  malloc
 *           and free never take it.  A bin's lock for a bounded number of slabs at a time, and never during a system
 *           call.
 * Not here  what a hole is: hole.h.
 */
#ifndef HEW_SLAB_HOLES_H
#define HEW_SLAB_HOLES_H

#include "os/mutex.h"
#include "slab/bin.h"

struct hew_arena;

#define HEW_HOLES_AT_ONCE 32 /* slabs of a bin whose regions are marked at a time */

/* The result of a bin's last scan. */
struct hew_holes_seen {
    uint64_t moves; /* regions that had left or come back */
    bool waiting;   /* some slab was not due yet */
};

/* The same for one arena. */
struct hew_holes {
    uint64_t looked_ms;
    struct hew_holes_seen bins[HEW_CODE_SMALL_LAST + 1];
};

extern struct hew_mutex hew_holes_lock;

/* Returns the memory that is due, or `all` that can be.  The result is the time in milliseconds until there may be more
 * to do; 0 when nothing has changed. */
uint64_t hew_holes_return(struct hew_arena *arena, uint64_t now_ms, bool all);

/* One scan of one bin. */
struct hew_holes_look {
    struct hew_page_heap *pages;
    struct hew_bin *bin;
    struct hew_holes_seen *seen; /* guarded by hew_holes_lock */
    unsigned code;
    bool all;
    uint64_t now_ms;
    uint64_t live_ms; /* how long a slab may be idle */
};

/* Scans the bin.  Returns whether there may be more to do later. */
bool hew_holes_look(const struct hew_holes_look *look);

/* In a fork's child: ends the walks of threads that do not exist here. */
void hew_holes_after_fork(struct hew_arena *arena);

#endif

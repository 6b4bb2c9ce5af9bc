/* SPDX-License-Identifier: MIT */
/*
 * holes: returning the memory of pieces of slabs that live on.
 *
 * Promises  a slab's pieces go back when its count of free regions has not changed for a time on the decay curve of its arena:
 *           no longer than dirty_decay_ms, and muzzy_decay_ms on top, since a hole cannot be muzzy.  -1: never.  A bin that is
 *           full but for a 16th is left alone, and so are slabs of the reserve, and arenas with extent hooks.
 * Locks     hew_holes_lock (rank: holes) while regions are out, so that fork() finds none out.  Nobody takes it in malloc or
 *           free.  A bin's lock for a bounded number of slabs at a time, and never while the system is called.
 * Not here  what a hole is: hole.h.
 */
#ifndef HEW_SLAB_HOLES_H
#define HEW_SLAB_HOLES_H

#include "os/mutex.h"
#include "slab/bin.h"

struct hew_arena;

#define HEW_HOLES_AT_ONCE 32 /* slabs whose regions are out of a bin at a time */

/* What was seen of a bin when it was last looked at. */
struct hew_holes_seen {
    uint64_t moves; /* regions that had left or come back */
    bool waiting;   /* some slab was not due yet */
};

/* The same of one arena. */
struct hew_holes {
    uint64_t looked_ms;
    struct hew_holes_seen bins[HEW_CODE_SMALL_LAST + 1];
};

extern struct hew_mutex hew_holes_lock;

/* Returns what is due, or `all` that can be.  Milliseconds until there may be more to do; 0 when nothing has changed. */
uint64_t hew_holes_return(struct hew_arena *arena, uint64_t now_ms, bool all);

/* One look at one bin. */
struct hew_holes_look {
    struct hew_page_heap *pages;
    struct hew_bin *bin;
    struct hew_holes_seen *seen; /* guarded by hew_holes_lock */
    unsigned code;
    bool all;
    uint64_t now_ms;
    uint64_t live_ms; /* how long a slab may be idle */
};

/* Whether there may be more to do later. */
bool hew_holes_look(const struct hew_holes_look *look);

/* In a fork's child: who walked through the arena's bins is not here. */
void hew_holes_after_fork(struct hew_arena *arena);

#endif

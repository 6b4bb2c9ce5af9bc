/* SPDX-License-Identifier: MIT */
/*
 * walk: returns the calling thread's stack as a node of the tree, at a few nanoseconds a frame.
 *
 * Owns      a thread's cache: its last stack, and the frame layouts of its callers, by return address.
 * Promises  the same frames as hew_unwind().  A cached frame is verified: its return address must be unchanged on the
 *           stack, and a frame found by frame pointer must have the same frame pointer.  Frames that cannot be cached
 *           (signal frames) are walked in full.  No lock and no malloc.
 * Called    by the thread that owns it.
 */
#ifndef HEW_TRACE_RECORD_WALK_H
#define HEW_TRACE_RECORD_WALK_H

#include "base/compiler.h"

struct hew_trace_walk;

/* The start of a walk: the return address of a function that has not returned, and its caller's stack and frame
 * pointers. */
struct hew_trace_start {
    uintptr_t pc, sp, fp;
};

/* NULL: no memory. */
struct hew_trace_walk *hew_trace_walk_new(void);
void hew_trace_walk_free(struct hew_trace_walk *walk);

/* Call it before the first stack of another recording, which has another tree. */
void hew_trace_walk_forget(struct hew_trace_walk *walk);

/* The node of the stack from `start` outwards, without frames of this library; 0: none. */
uint32_t hew_trace_walk(struct hew_trace_walk *walk, struct hew_trace_start start);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * walk: the calling thread's stack as a node of the tree, at the cost of a few nanoseconds a frame.
 *
 * Owns      what a thread remembers: its last stack, and how its callers' frames are laid out, by return address.
 * Promises  the same frames as hew_unwind() finds.  A remembered frame is checked: its return address must still stand where it stood, and
 *           where a frame is found by the frame pointer, that must be the same.  What cannot be remembered (signal frames) is walked in full.
 *           No lock and no malloc.
 * Called    by the thread that owns it.
 */
#ifndef HEW_TRACE_RECORD_WALK_H
#define HEW_TRACE_RECORD_WALK_H

#include "base/compiler.h"

struct hew_trace_walk;

/* Where a walk begins: the return address of a function that has not returned, what its caller's stack and frame pointers were. */
struct hew_trace_start {
    uintptr_t pc, sp, fp;
};

/* NULL: no memory. */
struct hew_trace_walk *hew_trace_walk_new(void);
void hew_trace_walk_free(struct hew_trace_walk *walk);

/* Before the first stack of another recording, whose tree is another one. */
void hew_trace_walk_forget(struct hew_trace_walk *walk);

/* The node of the stack from `start` outwards, without frames of this library; 0: none. */
uint32_t hew_trace_walk(struct hew_trace_walk *walk, struct hew_trace_start start);

#endif

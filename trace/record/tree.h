/* SPDX-License-Identifier: MIT */
/*
 * tree: the stacks of a recording, as nodes that are written once.
 *
 * Owns      the file's blocks of nodes, which all threads add to, and an index of them in memory.
 * Promises  no lock and no malloc.  Two threads that meet a new stack at once may give it two nodes.  A forked child has a tree of its own.
 * Format    docs/trace.md, "Stacks".
 */
#ifndef HEW_TRACE_RECORD_TREE_H
#define HEW_TRACE_RECORD_TREE_H

#include "base/compiler.h"

/* The node of a call at `address` below `parent` (0: the outermost); 0: there is no room for one more. */
uint32_t hew_trace_tree_child(uint32_t parent, uintptr_t address);

/* Amid a walk: there are frames of the object that lies there.  True when it is new: then its part of /proc/self/maps is written. */
bool hew_trace_tree_note(uintptr_t begin, uintptr_t end);

#endif

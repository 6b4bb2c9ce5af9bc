/* SPDX-License-Identifier: MIT */
/*
 * tree: the stacks of a recording as a tree; each node is written once.
 *
 * Owns      the file's blocks of nodes, which all threads append to, and an index of them in memory.
 * Promises  no lock and no malloc.  Two threads that see a new stack at the same time may give it two nodes.  A forked
 *           child has its own tree.
 * Format    docs/trace.md, "Stacks".
 */
#ifndef HEW_TRACE_RECORD_TREE_H
#define HEW_TRACE_RECORD_TREE_H

#include "base/compiler.h"

/* The node of a call at `address` below `parent` (0: the outermost); 0: no space for another node. */
uint32_t hew_trace_tree_child(uint32_t parent, uintptr_t address);

/* Called during a walk: the stack has frames of the object mapped there.  True when it is new; then its part of
 * /proc/self/maps is written. */
bool hew_trace_tree_note(uintptr_t begin, uintptr_t end);

#endif

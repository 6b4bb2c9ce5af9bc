/* SPDX-License-Identifier: MIT */
/*
 * threads: separates stacks by thread: a tree in which each thread's stacks are below a node for that thread.
 *
 * Owns      a copy of the trace's nodes followed by the nodes of each thread, and the mapping between them.  By malloc.
 */
#ifndef HEW_TRACE_PROFILE_THREADS_H
#define HEW_TRACE_PROFILE_THREADS_H

#include "format/reader.h"

#define PROFILE_THREAD (UINT64_C(3) << 62) /* flag in an address: the low bits are a thread's number */

struct profile_threads {
    struct hew_trace trace; /* the original trace with the new nodes */
    uint32_t *became;       /* the new node, by thread, then by original node */
    uint32_t nodes;         /* number of nodes in the original trace */
};

/* False: no memory. */
bool profile_threads_begin(struct profile_threads *threads, const struct hew_trace *trace);
void profile_threads_end(struct profile_threads *threads);

/* The thread's node for a node of the trace. */
uint32_t profile_threads_node(const struct profile_threads *threads, uint32_t thread, uint32_t node);

#endif

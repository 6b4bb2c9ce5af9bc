/* SPDX-License-Identifier: MIT */
/*
 * threads: stacks told apart by thread: a tree in which each thread's stacks stand below a node of its own.
 *
 * Owns      a copy of the trace's nodes with those of each thread behind them, and which node becomes which.  By malloc.
 */
#ifndef HEW_TRACE_PROFILE_THREADS_H
#define HEW_TRACE_PROFILE_THREADS_H

#include "format/reader.h"

#define PROFILE_THREAD (UINT64_C(3) << 62) /* in an address: the number of a thread follows */

struct profile_threads {
    struct hew_trace trace; /* as the one that it is of, but for its nodes */
    uint32_t *became;       /* by thread, then node */
    uint32_t nodes;         /* of the trace itself */
};

/* False: no memory. */
bool profile_threads_begin(struct profile_threads *threads, const struct hew_trace *trace);
void profile_threads_end(struct profile_threads *threads);

/* The thread's node for one of the trace. */
uint32_t profile_threads_node(const struct profile_threads *threads, uint32_t thread, uint32_t node);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * pprof: a snapshot as Google's profile.proto in gzip: estimated objects and bytes by stack, addresses and the mapped
 * files that they lie in.  Names are the reader's business.
 *
 * Values are alloc_objects, alloc_space (with prof_accum only), inuse_objects, inuse_space.  Each sample carries its
 * thread's number as the label `thread`, and its name, if it has one, as `thread_name`.
 */
#ifndef HEW_PROF_PPROF_H
#define HEW_PROF_PPROF_H

#include "prof/sink.h"
#include "prof/snapshot.h"

/* False without memory: nothing useful has been written. */
bool hew_pprof_write(struct hew_sink *sink, const struct hew_snapshot *snapshot);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * pprof: writes a snapshot as gzipped profile.proto (Google pprof): estimated objects and bytes for each stack,
 * addresses and the mapped files they lie in.  Symbolization is left to the reader.
 *
 * Values are alloc_objects, alloc_space (with prof_accum only), inuse_objects, inuse_space.  Each sample has its
 * thread's number as the label `thread`, and its name, if it has one, as `thread_name`.
 */
#ifndef HEW_PROF_PPROF_H
#define HEW_PROF_PPROF_H

#include "prof/sink.h"
#include "prof/snapshot.h"

/* False without memory; the sink's content is unusable then. */
bool hew_pprof_write(struct hew_sink *sink, const struct hew_snapshot *snapshot);

#endif

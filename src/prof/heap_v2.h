/* SPDX-License-Identifier: MIT */
/*
 * heap_v2: writes a snapshot in jemalloc's text format, which jeprof and other tools read: counts for each stack and
 * thread, and the process's memory map for symbolization.
 */
#ifndef HEW_PROF_HEAP_V2_H
#define HEW_PROF_HEAP_V2_H

#include "prof/sink.h"
#include "prof/snapshot.h"

void hew_heap_v2_write(struct hew_sink *sink, const struct hew_snapshot *snapshot);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * dump: when a profile is written, and under which name.
 *
 *     <prefix>.<pid>.<seq>.f.heap        at exit
 *                         .i<n>.heap     each 2^lg_prof_interval bytes
 *                         .m<n>.heap     asked for
 *                         .u<n>.heap     at a new peak of mapped memory
 *
 * With prof_format:pprof they end in .pb.gz.
 * Locks     hew_dump_lock (rank: outermost) guards prefix and numbers; it is not held while a file is written.
 * Called    with the thread inside the profiler (hew_prof_enter), so that nothing here is sampled.
 */
#ifndef HEW_PROF_DUMP_H
#define HEW_PROF_DUMP_H

#include "os/mutex.h"

extern struct hew_mutex hew_dump_lock;

/* prof.gdump; relaxed. */
extern _Atomic bool hew_dump_at_peaks;

void hew_dump_boot(void);

/* So many bytes more have been allocated, by estimate: writes what is due. */
void hew_dump_notice(uint64_t bytes);

/* Under that name, or with NULL a new one; false when it could not be written. */
bool hew_dump_write(const char *path);

/* The same into an open file, which stays open; `path` is what the hook of dumps is told. */
bool hew_dump_write_file(int file, const char *path);

/* What is live now, by estimate. */
struct hew_dump_leak {
    uint64_t objects, bytes, stacks;
};

/* The profile at exit, if there is to be one; zeros otherwise. */
struct hew_dump_leak hew_dump_final(void);

/* Begins a log of samples that will be written under that name, or with NULL as <prefix>.<pid>.<n>.json; false when one
 * runs.  Ends and writes it; false when none ran, or it could not be written. */
bool hew_dump_log_begin(const char *path);
bool hew_dump_log_end(void);

/* Names begin so from now on; "" : none is written but by name.  False when it is too long. */
bool hew_dump_set_prefix(const char *prefix);

/* Bytes between profiles by interval; 0: none. */
uint64_t hew_dump_interval(void);

#endif

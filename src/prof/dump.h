/* SPDX-License-Identifier: MIT */
/*
 * dump: decides when a profile is written, and its name.
 *
 *     <prefix>.<pid>.<seq>.f.heap        at exit
 *                         .i<n>.heap     each 2^lg_prof_interval bytes
 *                         .m<n>.heap     on request
 *                         .u<n>.heap     at a new peak of mapped memory
 *
 * With prof_format:pprof the names end in .pb.gz.
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

/* An estimated `bytes` more have been allocated: writes the profiles that are due. */
void hew_dump_notice(uint64_t bytes);

/* Writes a profile to `path`; NULL generates a name.  False when it could not be written. */
bool hew_dump_write(const char *path);

/* Writes a profile into an open file and leaves it open; the dump hook gets `path`. */
bool hew_dump_write_file(int file, const char *path);

/* Estimate of what is live now. */
struct hew_dump_leak {
    uint64_t objects, bytes, stacks;
};

/* Writes the profile at exit if it is enabled; otherwise returns zeros. */
struct hew_dump_leak hew_dump_final(void);

/* Begins a log of samples.  It will be written to `path`, or for NULL to <prefix>.<pid>.<n>.json.  False when one is
 * running.  The second ends and writes it; false when none was running, or it could not be written. */
bool hew_dump_log_begin(const char *path);
bool hew_dump_log_end(void);

/* Sets the prefix of generated names; "" disables all generated names.  False when it is too long. */
bool hew_dump_set_prefix(const char *prefix);

/* Bytes between profiles by interval; 0: none. */
uint64_t hew_dump_interval(void);

#endif

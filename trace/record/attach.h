/* SPDX-License-Identifier: MIT */
/*
 * attach: records a process that is already running.  hew's control socket loads this library and calls these functions
 * by name (control/remote/request_record.c).
 *
 * Promises  the program keeps running.  A recording that no client queries for a minute ends.  The trace has no objects
 *           made before it, and no calls through addresses that the program looked up itself.
 * Called    by one thread at a time, which is none of the program's.
 */
#ifndef HEW_TRACE_RECORD_ATTACH_H
#define HEW_TRACE_RECORD_ATTACH_H

#include "base/compiler.h"

/* Begins a recording.  numbers: most bytes of a file; one thread of this many; the stack of one allocation of this many
 * (0: none); whether forked children write files of their own; one byte of this many (0: every allocation).  Returns how many pointers now lead to this library; -1:
 * there is a recording already; -2: recording is impossible here. */
HEW_EXPORT long hew_trace_attach(const char *file, const uint64_t numbers[5]);

/* Redirects objects that have been loaded since.  Returns the bytes of the file so far; -1 when there is no recording
 * any more. */
HEW_EXPORT long hew_trace_look(void);

/* Ends the recording. */
HEW_EXPORT void hew_trace_detach(void);

#endif

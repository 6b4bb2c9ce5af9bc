/* SPDX-License-Identifier: MIT */
/*
 * attach: recording a process that runs already: hew's control socket loads us and calls these by name (control/remote/
 * request_record.c).
 *
 * Promises  the program goes on meanwhile.  A recording that nobody looks at for a minute ends.  What it made before is not in the trace; nor what it calls by addresses that it looked up itself.
 * Called    by one thread at a time, which is none of the program's.
 */
#ifndef HEW_TRACE_RECORD_ATTACH_H
#define HEW_TRACE_RECORD_ATTACH_H

#include "base/compiler.h"

/* Begins.  numbers: bytes of a file at most, one thread of so many, the stack of one allocation of so many (0: none), whether
 * forked children write files of their own.  How many words call us now; -1 there is a recording, -2 it cannot be here. */
HEW_EXPORT long hew_trace_attach(const char *file, const uint64_t numbers[4]);

/* Looks for what has been loaded since.  Bytes of the file so far; -1 when there is no recording any more. */
HEW_EXPORT long hew_trace_look(void);

/* Ends it. */
HEW_EXPORT void hew_trace_detach(void);

#endif

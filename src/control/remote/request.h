/* SPDX-License-Identifier: MIT */
/*
 * request: executes one request line from a client and produces its answer.  docs/control.md describes the protocol.
 * Request kinds that have files of their own are declared here too.
 *
 * Promises  an unknown request, or one that clients may not make, changes nothing.  No malloc.
 * Called    by one thread that has no cache of its own.  So mallctl names for the calling thread (thread.*) are
 *           refused, and so are requests that create or destroy something the program owns.
 * Not here  receiving lines: remote.c.
 */
#ifndef HEW_CONTROL_REMOTE_REQUEST_H
#define HEW_CONTROL_REMOTE_REQUEST_H

#include "control/remote/reply.h"

/* A line without its newline; line[length] must be writable.  The answer is complete on return. */
void hew_request_answer(char *line, size_t length, struct hew_reply *reply);

/* -- Kinds of requests: each writes its part of the answer ------------------------------------------------------------ */

/* request_read.c: a heap profile, written to a file in memory.  Nothing is written to disk. */
void hew_request_profile(struct hew_reply *reply);

/* request_read.c: every live sampled object.  Refused without prof:true. */
void hew_request_samples(struct hew_reply *reply);

/* request_read.c: a line for each thread that has allocated: its number, its arena, its requests to that arena, the
 * contents of its cache. */
void hew_request_threads(struct hew_reply *reply);

/*
 * request_record.c: makes libhewtrace.so record the process's allocations and frees (trace/record/attach.h).
 *
 * `what`: look; stop; or MOST,THREADS,STACKS,CHILDREN,BYTES.  In the last form `rest` is the library's path, which has
 * BYTES bytes, a blank and the trace's path.  The serving thread has its own descriptor table: the library's file is
 * open in it alone, the trace in the program.  Unlike other requests it calls malloc, in the loader, and waits for the
 * loader's lock.
 */
void hew_request_record(const char *what, char *rest, struct hew_reply *reply);

#endif

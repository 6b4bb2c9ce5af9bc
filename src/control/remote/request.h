/* SPDX-License-Identifier: MIT */
/*
 * request: from a line that came from outside to its answer.  docs/control.md is the protocol.  Kinds of requests that
 * have files of their own are declared here too.
 *
 * Promises  a line that is not understood, or asks for what is not for others, changes nothing.  No malloc.
 * Called    by one thread that has no cache of its own: what mallctl does for the calling thread (thread.*) is refused,
 *           and so is what makes or ends something whose owner is in the program.
 * Not here  where lines come from: remote.c.
 */
#ifndef HEW_CONTROL_REMOTE_REQUEST_H
#define HEW_CONTROL_REMOTE_REQUEST_H

#include "control/remote/reply.h"

/* A line without its newline; line[length] can be written.  The answer is whole afterwards. */
void hew_request_answer(char *line, size_t length, struct hew_reply *reply);

/* -- Kinds of requests: each writes its part of the answer ------------------------------------------------------------ */

/* request_profile.c: a heap profile, by way of a file in memory.  Nothing is written to disk. */
void hew_request_profile(struct hew_reply *reply);

/* request_samples.c: every sampled object that is live.  Refused without prof:true. */
void hew_request_samples(struct hew_reply *reply);

/* request_threads.c: a line for each thread that has allocated: its number, its arena, what it has asked of that, what
 * its cache holds. */
void hew_request_threads(struct hew_reply *reply);

/*
 * request_record.c: has libhewtrace.so record the process's allocations and frees (trace/record/attach.h).
 *
 * `what`: look; stop; or MOST,THREADS,STACKS,CHILDREN,BYTES, with `rest` BYTES of the library's path, a blank and the
 * trace's.  The serving thread has descriptors of its own: the library's file is open in it alone, the trace in the
 * program.  Unlike other requests it calls malloc, in the loader, and waits for the loader's lock.
 */
void hew_request_record(const char *what, char *rest, struct hew_reply *reply);

#endif

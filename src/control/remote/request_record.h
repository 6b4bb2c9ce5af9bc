/* SPDX-License-Identifier: MIT */
/*
 * request_record: has the process's allocations and frees recorded by libhewtrace.so, which is loaded for it (trace/record/attach.h).
 *
 * Called    by the thread that serves, whose descriptors are its own: the library's file is open in it alone, the trace in the
 *           program.  Unlike other requests it calls malloc, in the loader, and waits for the loader's lock.
 */
#ifndef HEW_CONTROL_REMOTE_REQUEST_RECORD_H
#define HEW_CONTROL_REMOTE_REQUEST_RECORD_H

#include "control/remote/reply.h"

/* `what`: look; stop; or MOST,THREADS,STACKS,CHILDREN,BYTES, with `rest` BYTES of the library's path, a blank and the trace's. */
void hew_request_record(const char *what, char *rest, struct hew_reply *reply);

#endif

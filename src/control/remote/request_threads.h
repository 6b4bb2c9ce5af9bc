/* SPDX-License-Identifier: MIT */
/*
 * request_threads: who allocates where, as an answer.
 */
#ifndef HEW_CONTROL_REMOTE_REQUEST_THREADS_H
#define HEW_CONTROL_REMOTE_REQUEST_THREADS_H

#include "control/remote/reply.h"

/* A line for each thread that has allocated: its number, its arena, what it has asked of that, what it keeps at hand. */
void hew_request_threads(struct hew_reply *reply);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * request: from a line that came from outside to its answer.  docs/control.md is the protocol.
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

#endif

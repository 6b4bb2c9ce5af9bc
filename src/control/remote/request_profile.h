/* SPDX-License-Identifier: MIT */
/*
 * request_profile: a heap profile as an answer.
 */
#ifndef HEW_CONTROL_REMOTE_REQUEST_PROFILE_H
#define HEW_CONTROL_REMOTE_REQUEST_PROFILE_H

#include "control/remote/reply.h"

/* The profile by way of a file in memory: nothing is written to disk. */
void hew_request_profile(struct hew_reply *reply);

#endif

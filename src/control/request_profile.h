/* SPDX-License-Identifier: MIT */
/*
 * request_profile: a heap profile as an answer.
 */
#ifndef HEW_CONTROL_REQUEST_PROFILE_H
#define HEW_CONTROL_REQUEST_PROFILE_H

#include "control/reply.h"

/* The profile by way of a file in memory: nothing is written to disk.  The words of the request are not looked at. */
void hew_request_profile(char *name, char *rest, struct hew_reply *reply);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * request_samples: every sampled object that is live, as an answer.
 */
#ifndef HEW_CONTROL_REMOTE_REQUEST_SAMPLES_H
#define HEW_CONTROL_REMOTE_REQUEST_SAMPLES_H

#include "control/remote/reply.h"

/* Answers in the form of docs/control.md, or refuses without prof:true. */
void hew_request_samples(struct hew_reply *reply);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * reply: an answer in the making, then on its way.
 *
 *     ok TYPE LENGTH\n  LENGTH bytes  \n
 *     error KIND LENGTH\n  LENGTH bytes, a sentence  \n
 *
 * Owns      a mapping of its own, which grows: nothing of it stays in the process when the answer has been sent.
 * Promises  an answer that is too long, or for which there is no memory, becomes an error.
 * Called    by one thread for each reply.
 */
#ifndef HEW_CONTROL_REMOTE_REPLY_H
#define HEW_CONTROL_REMOTE_REPLY_H

#include "base/compiler.h"

#define HEW_REPLY_HEAD 64
#define HEW_REPLY_MOST ((size_t)1 << 30)

/* All zeros: no answer.  at[from .. length) is to be sent. */
struct hew_reply {
    char *at;
    size_t from, length, capacity;
    bool failed;
};

/* Appends to the answer's bytes. */
void hew_reply_put_bytes(struct hew_reply *reply, const void *bytes, size_t count);
void hew_reply_put(struct hew_reply *reply, const char *text);

/* Room for `count` bytes more, which the caller fills and then counts with hew_reply_filled(); NULL: there is none. */
char *hew_reply_room(struct hew_reply *reply, size_t count);
void hew_reply_filled(struct hew_reply *reply, size_t count);

/* The answer is whole, and of this type. */
void hew_reply_end(struct hew_reply *reply, const char *type);

/* In place of whatever there was: an error.  `detail` may be "". */
void hew_reply_refuse(struct hew_reply *reply, const char *kind, const char *sentence, const char *detail);

/* It has been sent, or will never be. */
void hew_reply_give(struct hew_reply *reply);

#endif

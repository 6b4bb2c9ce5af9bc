/* SPDX-License-Identifier: MIT */
/*
 * reply: builds an answer and holds it until it is sent.
 *
 *     ok TYPE LENGTH\n  LENGTH bytes  \n
 *     error KIND LENGTH\n  LENGTH bytes, a sentence  \n
 *
 * Owns      a separate growing mapping: once the answer has been sent, the process keeps none of it.
 * Promises  an answer that is too long, or does not fit memory, becomes an error.
 * Called    by one thread for each reply.
 */
#ifndef HEW_CONTROL_REMOTE_REPLY_H
#define HEW_CONTROL_REMOTE_REPLY_H

#include "base/compiler.h"

#define HEW_REPLY_HEAD 64
#define HEW_REPLY_MOST ((size_t)1 << 30)

/* All zeros: no answer.  at[from .. length) is still to be sent. */
struct hew_reply {
    char *at;
    size_t from, length, capacity;
    bool failed;
};

/* Appends to the answer's bytes. */
void hew_reply_put_bytes(struct hew_reply *reply, const void *bytes, size_t count);
void hew_reply_put(struct hew_reply *reply, const char *text);

/* Space for `count` more bytes.  The caller fills it and then calls hew_reply_filled().  NULL: there is none. */
char *hew_reply_room(struct hew_reply *reply, size_t count);
void hew_reply_filled(struct hew_reply *reply, size_t count);

/* Completes the answer with its type. */
void hew_reply_end(struct hew_reply *reply, const char *type);

/* Replaces the answer by an error.  `detail` may be "". */
void hew_reply_refuse(struct hew_reply *reply, const char *kind, const char *sentence, const char *detail);

/* Frees the answer. */
void hew_reply_give(struct hew_reply *reply);

#endif

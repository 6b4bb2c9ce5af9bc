/* SPDX-License-Identifier: MIT */
/* reply: see reply.h.  The head is written last, into space reserved before the bytes. */
#include "control/remote/reply.h"

#include "base/size_class.h"
#include "base/text.h"
#include "os/memory.h"

#include <string.h>

#define FIRST_BYTES HEW_SYSTEM_PAGE_MAX

static bool
grow(struct hew_reply *reply, size_t wanted)
{
    size_t capacity = reply->capacity == 0 ? FIRST_BYTES : reply->capacity;
    while (capacity < wanted && capacity < HEW_REPLY_MOST) {
        capacity *= 2;
    }
    char *larger = capacity < wanted ? NULL : hew_os_map(capacity, HEW_PAGE);
    if (larger == NULL) {
        return false;
    }
    if (reply->at != NULL) {
        memcpy(larger, reply->at, reply->length);
        hew_os_unmap(reply->at, reply->capacity);
    } else {
        reply->length = HEW_REPLY_HEAD;
    }
    reply->at = larger;
    reply->capacity = capacity;
    return true;
}

char *
hew_reply_room(struct hew_reply *reply, size_t count)
{
    size_t length = reply->at == NULL ? HEW_REPLY_HEAD : reply->length;
    if (reply->failed || count > HEW_REPLY_MOST) {
        return NULL;
    }
    if (length + count + 1 > reply->capacity && !grow(reply, length + count + 1)) { /* 1: the newline at the end */
        reply->failed = true;
        return NULL;
    }
    return reply->at + reply->length;
}

void
hew_reply_filled(struct hew_reply *reply, size_t count)
{
    reply->length += count;
}

void
hew_reply_put_bytes(struct hew_reply *reply, const void *bytes, size_t count)
{
    char *room = hew_reply_room(reply, count);
    if (room != NULL) {
        memcpy(room, bytes, count);
        hew_reply_filled(reply, count);
    }
}

void
hew_reply_put(struct hew_reply *reply, const char *text)
{
    hew_reply_put_bytes(reply, text, strlen(text));
}

static void
finish(struct hew_reply *reply, const char *outcome, const char *kind)
{
    char head[HEW_REPLY_HEAD];
    struct hew_text text;
    hew_text_begin(&text, head, sizeof head);
    hew_text_put(&text, outcome);
    hew_text_put(&text, " ");
    hew_text_put(&text, kind);
    hew_text_put(&text, " ");
    hew_text_put_unsigned(&text, reply->length - HEW_REPLY_HEAD);
    hew_text_put(&text, "\n");
    reply->from = HEW_REPLY_HEAD - text.length;
    memcpy(reply->at + reply->from, head, text.length);
    reply->at[reply->length++] = '\n';
}

void
hew_reply_end(struct hew_reply *reply, const char *type)
{
    if (hew_reply_room(reply, 0) == NULL) {
        hew_reply_refuse(reply, "no-memory", "the process has no memory for this answer", "");
    } else {
        finish(reply, "ok", type);
    }
}

void
hew_reply_refuse(struct hew_reply *reply, const char *kind, const char *sentence, const char *detail)
{
    hew_reply_give(reply);
    hew_reply_put(reply, sentence);
    hew_reply_put(reply, detail);
    if (reply->at != NULL && !reply->failed) {
        finish(reply, "error", kind);
    }
}

void
hew_reply_give(struct hew_reply *reply)
{
    if (reply->at != NULL) {
        hew_os_unmap(reply->at, reply->capacity);
    }
    *reply = (struct hew_reply){.at = NULL};
}

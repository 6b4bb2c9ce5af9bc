/* SPDX-License-Identifier: MIT */
/*
 * protobuf: messages in Protocol Buffers' binary form.
 *
 * A message that lies in another one is built in memory first, since its length stands in front of it.  What does not fit
 * is left out whole.
 * Owned by the writer.  Pure functions over the caller's memory.
 */
#ifndef HEW_PROF_PROTOBUF_H
#define HEW_PROF_PROTOBUF_H

#include "base/compiler.h"

struct hew_protobuf {
    uint8_t *at;
    size_t length, capacity;
};

/* A number; `value` is cast from int64_t for a negative one.  0 is the default and left out. */
void hew_protobuf_number(struct hew_protobuf *message, unsigned field, uint64_t value);

/* A text, or a message that has been built. */
void hew_protobuf_bytes(struct hew_protobuf *message, unsigned field, const void *bytes, size_t count);

/* What stands before a message of `length` bytes that follows by itself. */
void hew_protobuf_head(struct hew_protobuf *message, unsigned field, size_t length);

/* Numbers side by side, zeros too. */
void hew_protobuf_packed(struct hew_protobuf *message, unsigned field, const uint64_t *values, size_t count);

#endif

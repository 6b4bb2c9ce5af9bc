/* SPDX-License-Identifier: MIT */
/*
 * protobuf: writes messages in Protocol Buffers' binary form.
 *
 * A nested message is preceded by its length, so it is built in memory first.  A field that does not fit is left out as
 * a whole.
 * Owned by the writer.  Pure functions over the caller's memory.
 */
#ifndef HEW_PROF_PROTOBUF_H
#define HEW_PROF_PROTOBUF_H

#include "base/compiler.h"

struct hew_protobuf {
    uint8_t *at;
    size_t length, capacity;
};

/* Writes an integer; cast negative values from int64_t.  0 is the default and is left out. */
void hew_protobuf_number(struct hew_protobuf *message, unsigned field, uint64_t value);

/* Writes a string, or a nested message that has been built. */
void hew_protobuf_bytes(struct hew_protobuf *message, unsigned field, const void *bytes, size_t count);

/* Writes the header of a nested message of `length` bytes that the caller writes separately. */
void hew_protobuf_head(struct hew_protobuf *message, unsigned field, size_t length);

/* Writes a packed repeated field, zeros included. */
void hew_protobuf_packed(struct hew_protobuf *message, unsigned field, const uint64_t *values, size_t count);

#endif

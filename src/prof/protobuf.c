/* SPDX-License-Identifier: MIT */
#include "prof/protobuf.h"

#include <string.h>

#define VARINT_MOST 10
enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static size_t
encode(uint8_t *to, uint64_t value)
{
    size_t count = 0;
    while (value >= 0x80) {
        to[count++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    to[count++] = (uint8_t)value;
    return count;
}

static size_t
encoded_size(uint64_t value)
{
    uint8_t unused[VARINT_MOST];
    return encode(unused, value);
}

/* Whether `count` bytes and two numbers before them fit. */
static bool
has_room(const struct hew_protobuf *message, size_t count)
{
    return message->capacity - message->length >= 2 * VARINT_MOST &&
           message->capacity - message->length - 2 * VARINT_MOST >= count;
}

static void
put(struct hew_protobuf *message, uint64_t value)
{
    message->length += encode(message->at + message->length, value);
}

void
hew_protobuf_number(struct hew_protobuf *message, unsigned field, uint64_t value)
{
    if (value != 0 && has_room(message, 0)) {
        put(message, field << 3 | WIRE_VARINT);
        put(message, value);
    }
}

void
hew_protobuf_head(struct hew_protobuf *message, unsigned field, size_t length)
{
    if (has_room(message, 0)) {
        put(message, field << 3 | WIRE_BYTES);
        put(message, length);
    }
}

void
hew_protobuf_bytes(struct hew_protobuf *message, unsigned field, const void *bytes, size_t count)
{
    if (has_room(message, count)) {
        put(message, field << 3 | WIRE_BYTES);
        put(message, count);
        memcpy(message->at + message->length, bytes, count);
        message->length += count;
    }
}

void
hew_protobuf_packed(struct hew_protobuf *message, unsigned field, const uint64_t *values, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += encoded_size(values[i]);
    }
    if (has_room(message, bytes)) {
        put(message, field << 3 | WIRE_BYTES);
        put(message, bytes);
        for (size_t i = 0; i < count; i++) {
            put(message, values[i]);
        }
    }
}

/* SPDX-License-Identifier: MIT */
#include "stats/writer.h"

#include <string.h>

void
hew_writer_begin(struct hew_writer *out, void (*write)(void *context, const char *piece), void *context)
{
    out->write = write;
    out->context = context;
    hew_text_begin(&out->text, out->buffer, sizeof out->buffer);
}

void
hew_writer_end(struct hew_writer *out)
{
    if (out->text.length != 0) {
        out->write(out->context, out->buffer);
        hew_text_begin(&out->text, out->buffer, sizeof out->buffer);
    }
}

/* Makes space for `bytes`, which are far fewer than the buffer has. */
static void
make_room(struct hew_writer *out, size_t bytes)
{
    if (out->text.capacity - 1 - out->text.length < bytes) {
        hew_writer_end(out);
    }
}

void
hew_writer_put(struct hew_writer *out, const char *string)
{
    for (size_t left = strlen(string); left > 0;) {
        make_room(out, 1);
        size_t room = out->text.capacity - 1 - out->text.length, some = left < room ? left : room;
        hew_text_put_bytes(&out->text, string, some);
        string += some;
        left -= some;
    }
}

void
hew_writer_put_byte(struct hew_writer *out, char byte)
{
    make_room(out, 1);
    hew_text_put_bytes(&out->text, &byte, 1);
}

#define DIGITS 24 /* of the longest number with its sign */

void
hew_writer_put_unsigned(struct hew_writer *out, uint64_t value)
{
    make_room(out, DIGITS);
    hew_text_put_unsigned(&out->text, value);
}

void
hew_writer_put_signed(struct hew_writer *out, int64_t value)
{
    make_room(out, DIGITS);
    hew_text_put_signed(&out->text, value);
}

void
hew_writer_put_right(struct hew_writer *out, const char *string, size_t width)
{
    size_t length = strlen(string);
    do {
        hew_writer_put_byte(out, ' ');
    } while (++length < width);
    hew_writer_put(out, string);
}

void
hew_writer_put_number(struct hew_writer *out, uint64_t value, size_t width)
{
    char digits[DIGITS];
    struct hew_text text;
    hew_text_begin(&text, digits, sizeof digits);
    hew_text_put_unsigned(&text, value);
    hew_writer_put_right(out, digits, width);
}

void
hew_writer_put_hex4(struct hew_writer *out, unsigned value)
{
    for (int shift = 12; shift >= 0; shift -= 4) {
        hew_writer_put_byte(out, "0123456789abcdef"[value >> shift & 15]);
    }
}

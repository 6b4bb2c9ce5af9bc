/* SPDX-License-Identifier: MIT */
/* text: see text.h. */
#include "base/text.h"

#include <string.h>

/* 20 digits hold 2^64 - 1. */
#define HEW_TEXT_DIGITS 20

static const char hew_text_ellipsis[] = "...";

void
hew_text_begin(struct hew_text *text, char *buffer, size_t capacity)
{
    text->at = buffer;
    text->length = 0;
    text->capacity = capacity;
    text->truncated = false;
    if (capacity > 0) {
        buffer[0] = '\0';
    }
}

/* Overwrites the last bytes of a full buffer with an ellipsis.  A buffer too small for the ellipsis is cut without
 * one. */
static void
text_cut(struct hew_text *text)
{
    size_t mark = sizeof(hew_text_ellipsis) - 1;

    text->truncated = true;
    if (text->length >= mark) {
        memcpy(text->at + text->length - mark, hew_text_ellipsis, mark);
    }
}

void
hew_text_put_bytes(struct hew_text *text, const void *bytes, size_t count)
{
    size_t room = text->capacity == 0 ? 0 : text->capacity - 1 - text->length;
    size_t taken = count < room ? count : room;

    if (text->truncated || count == 0) {
        return;
    }
    if (taken > 0) {
        memcpy(text->at + text->length, bytes, taken);
        text->length += taken;
        text->at[text->length] = '\0';
    }
    if (taken < count) {
        text_cut(text);
    }
}

void
hew_text_put(struct hew_text *text, const char *string)
{
    hew_text_put_bytes(text, string, strlen(string));
}

/* Writes the digits right-aligned into digits[HEW_TEXT_DIGITS] and returns their number. */
static size_t
text_digits(char *digits, uint64_t value, unsigned base)
{
    size_t count = 0;

    do {
        count++;
        unsigned digit = (unsigned)(value % base);
        digits[HEW_TEXT_DIGITS - count] =
            (char)(digit + (digit < 10 ? '0' : 'a' - 10)); /* no table: first.txt's 64 KiB */
        value /= base;
    } while (value != 0);
    return count;
}

void
hew_text_put_unsigned(struct hew_text *text, uint64_t value)
{
    hew_text_put_padded(text, value, 0);
}

void
hew_text_put_signed(struct hew_text *text, int64_t value)
{
    if (value < 0) {
        hew_text_put(text, "-");
    }
    /* Negated as unsigned: the most negative number has no positive counterpart. */
    hew_text_put_unsigned(text, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void
hew_text_put_hex(struct hew_text *text, uint64_t value)
{
    char digits[HEW_TEXT_DIGITS];
    size_t count = text_digits(digits, value, 16);

    hew_text_put(text, "0x");
    hew_text_put_bytes(text, digits + HEW_TEXT_DIGITS - count, count);
}

void
hew_text_put_thousandths(struct hew_text *text, uint64_t thousandths)
{
    unsigned rest = (unsigned)(thousandths % 1000);

    hew_text_put_unsigned(text, thousandths / 1000);
    if (rest != 0) {
        hew_text_put(text, ".");
    }
    for (unsigned unit = 100; rest != 0; unit /= 10) {
        hew_text_put_unsigned(text, rest / unit);
        rest %= unit;
    }
}

static void
text_put_spaces(struct hew_text *text, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hew_text_put_bytes(text, " ", 1);
    }
}

void
hew_text_put_padded(struct hew_text *text, uint64_t value, size_t width)
{
    char digits[HEW_TEXT_DIGITS];
    size_t count = text_digits(digits, value, 10);

    text_put_spaces(text, width > count ? width - count : 0);
    hew_text_put_bytes(text, digits + HEW_TEXT_DIGITS - count, count);
}

void
hew_text_put_column(struct hew_text *text, const char *string, size_t width)
{
    size_t length = strlen(string);

    hew_text_put_bytes(text, string, length);
    text_put_spaces(text, width > length ? width - length : 0);
}

void
hew_text_put_printable(struct hew_text *text, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        bool control = byte < 0x20 || byte == 0x7f;
        hew_text_put_bytes(text, control ? "?" : &bytes[i], 1);
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * text: builds a line of text in a buffer that the caller owns.
 *
 * Owns      Nothing.
 * Promises  No malloc, no stdio, no locale, no system call.  So it may run before constructors, inside a signal handler
 *           and while the heap is corrupt.  The buffer always ends in NUL.  Text that does not fit is cut, and then
 *           ends in "..." so that a reader notices.
 * Called    By one thread at a time for each text.
 * Not here  Output of the text.
 */
#ifndef HEW_BASE_TEXT_H
#define HEW_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* at[0 .. length) is the text and at[length] is NUL; capacity counts the NUL.  truncated: some bytes were cut. */
struct hew_text {
    char *at;
    size_t length;
    size_t capacity;
    bool truncated;
};

/* Starts an empty text in buffer[0 .. capacity).  With capacity 0 the text accepts nothing. */
void hew_text_begin(struct hew_text *text, char *buffer, size_t capacity);

/* Each function appends as much as fits. */
void hew_text_put(struct hew_text *text, const char *string);
void hew_text_put_bytes(struct hew_text *text, const void *bytes, size_t count);
void hew_text_put_unsigned(struct hew_text *text, uint64_t value);
void hew_text_put_signed(struct hew_text *text, int64_t value);

/* Like 0x1f: lower case, no leading zeros. */
void hew_text_put_hex(struct hew_text *text, uint64_t value);

/* Fixed-point numbers for ratios: thousandths 1250 becomes 1.25, and 2000 becomes 2. */
void hew_text_put_thousandths(struct hew_text *text, uint64_t thousandths);

/* Appends a decimal number, padded with leading spaces to `width`, for report columns. */
void hew_text_put_padded(struct hew_text *text, uint64_t value, size_t width);

/* Appends the text, padded with trailing spaces to `width`. */
void hew_text_put_column(struct hew_text *text, const char *string, size_t width);

/* Appends bytes from outside (environment, file names) so that they fit on one line of a terminal: each control byte
 * becomes '?'. */
void hew_text_put_printable(struct hew_text *text, const char *bytes, size_t count);

#endif

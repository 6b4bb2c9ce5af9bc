/* SPDX-License-Identifier: MIT */
/*
 * text: building a line of text in a buffer that the caller owns.
 *
 * Owns      nothing.
 * Promises  no malloc, no stdio, no locale, no system call, so it may run before constructors, inside a signal handler
 *           and while the heap is broken; the buffer always ends in NUL; what does not fit is cut, and a cut text ends
 *           in "..." so that nobody takes it for the whole.
 * Called    by one thread at a time for each text.
 * Not here  writing the text anywhere.
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

/* Starts an empty text in buffer[0 .. capacity).  capacity 0 is a text that takes nothing. */
void hew_text_begin(struct hew_text *text, char *buffer, size_t capacity);

/* Each appends as much as fits. */
void hew_text_put(struct hew_text *text, const char *string);
void hew_text_put_bytes(struct hew_text *text, const void *bytes, size_t count);
void hew_text_put_unsigned(struct hew_text *text, uint64_t value);
void hew_text_put_signed(struct hew_text *text, int64_t value);

/* 0x1f: lower case, no leading zeros. */
void hew_text_put_hex(struct hew_text *text, uint64_t value);

/* thousandths 1250 becomes 1.25, 2000 becomes 2: the fixed-point numbers of ratios. */
void hew_text_put_thousandths(struct hew_text *text, uint64_t thousandths);

/* The decimal number, with spaces before it up to width: columns of a report. */
void hew_text_put_padded(struct hew_text *text, uint64_t value, size_t width);

/* The text, and spaces after it up to width. */
void hew_text_put_column(struct hew_text *text, const char *string, size_t width);

/* Bytes from outside (environment, file names) made fit for one line of a terminal: each control byte becomes '?'. */
void hew_text_put_printable(struct hew_text *text, const char *bytes, size_t count);

#endif

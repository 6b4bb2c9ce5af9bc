/* SPDX-License-Identifier: MIT */
/*
 * writer: passes text of any length to a function that takes strings, in pieces that end in NUL.
 *
 * Promises  no malloc, no stdio; a piece is passed on when the buffer is full and at the end; no text is lost.
 * Called    by one thread, without any lock of hew: the function may be the program's, and may allocate.
 */
#ifndef HEW_STATS_WRITER_H
#define HEW_STATS_WRITER_H

#include "base/compiler.h"
#include "base/text.h"

#define HEW_WRITER_BYTES 4096

struct hew_writer {
    void (*write)(void *context, const char *piece);
    void *context;
    struct hew_text text;
    char buffer[HEW_WRITER_BYTES];
};

void hew_writer_begin(struct hew_writer *out, void (*write)(void *context, const char *piece), void *context);

/* Passes on the remaining text. */
void hew_writer_end(struct hew_writer *out);

void hew_writer_put(struct hew_writer *out, const char *string);
void hew_writer_put_byte(struct hew_writer *out, char byte);
void hew_writer_put_unsigned(struct hew_writer *out, uint64_t value);
void hew_writer_put_signed(struct hew_writer *out, int64_t value);

/* Right-aligned to width, with at least one blank before it. */
void hew_writer_put_right(struct hew_writer *out, const char *string, size_t width);
void hew_writer_put_number(struct hew_writer *out, uint64_t value, size_t width);

/* Four hexadecimal digits. */
void hew_writer_put_hex4(struct hew_writer *out, unsigned value);

#endif

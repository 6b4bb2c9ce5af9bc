/* SPDX-License-Identifier: MIT */
#include "stats/writer.h"

#include "test.h"

static char heard[3 * HEW_WRITER_BYTES];
static size_t length;
static unsigned pieces;

static void
hear(void *context, const char *piece)
{
    CHECK(context == heard);
    size_t bytes = strlen(piece);
    CHECK(bytes > 0 && bytes < HEW_WRITER_BYTES);
    memcpy(heard + length, piece, bytes + 1);
    length += bytes;
    pieces++;
}

static struct hew_writer *
begin(void)
{
    static struct hew_writer out;
    heard[0] = '\0';
    length = pieces = 0;
    hew_writer_begin(&out, hear, heard);
    return &out;
}

TEST(nothing_written_is_nothing_heard)
{
    struct hew_writer *out = begin();
    hew_writer_put(out, "");
    hew_writer_end(out);
    CHECK_EQUAL(pieces, 0);
}

TEST(text_arrives_in_one_piece_at_the_end)
{
    struct hew_writer *out = begin();
    hew_writer_put(out, "a");
    hew_writer_put_byte(out, 'b');
    hew_writer_put_unsigned(out, UINT64_MAX);
    hew_writer_put_signed(out, INT64_MIN);
    hew_writer_put_hex4(out, 0x1f);
    CHECK_EQUAL(pieces, 0);
    hew_writer_end(out);
    CHECK_EQUAL(pieces, 1);
    CHECK_TEXT(heard, "ab18446744073709551615-9223372036854775808001f");
}

TEST(long_text_is_cut_into_pieces_and_nothing_is_lost)
{
    static char text[2 * HEW_WRITER_BYTES + 100], expected[sizeof text + 32];
    for (size_t at = 0; at < sizeof text - 1; at++) {
        text[at] = (char)('a' + at % 26);
    }
    struct hew_writer *out = begin();
    hew_writer_put(out, text);
    hew_writer_put_unsigned(out, 12345);
    hew_writer_end(out);
    snprintf(expected, sizeof expected, "%s12345", text);
    CHECK(strcmp(heard, expected) == 0);
    CHECK_EQUAL(pieces, 3);
}

TEST(a_number_is_never_cut)
{
    for (unsigned before = HEW_WRITER_BYTES - 30; before < HEW_WRITER_BYTES; before++) {
        struct hew_writer *out = begin();
        for (unsigned at = 0; at < before; at++) {
            hew_writer_put_byte(out, '.');
        }
        hew_writer_put_unsigned(out, UINT64_MAX);
        hew_writer_end(out);
        CHECK_EQUAL(length, before + 20);
        CHECK_TEXT(heard + before, "18446744073709551615");
    }
}

TEST(columns_are_right_aligned_and_never_touch)
{
    struct hew_writer *out = begin();
    hew_writer_put_number(out, 7, 4);
    hew_writer_put_number(out, 1234567, 4);
    hew_writer_put_right(out, "abc", 6);
    hew_writer_end(out);
    CHECK_TEXT(heard, "   7 1234567   abc");
}

/* SPDX-License-Identifier: MIT */
/* Unit tests of base/text: what is appended reads as expected, and nothing is ever written past the buffer. */
#include "base/text.h"

#include "test.h"

static char buffer[128];
static struct hew_text text;

static void
start(void)
{
    memset(buffer, '#', sizeof(buffer));
    hew_text_begin(&text, buffer, sizeof(buffer));
}

TEST(a_new_text_is_empty_and_ends_in_nul)
{
    start();
    CHECK_TEXT(buffer, "");
    CHECK_EQUAL(text.length, 0);
    CHECK(!text.truncated);
}

TEST(strings_and_bytes_are_appended_in_order)
{
    start();
    hew_text_put(&text, "free(");
    hew_text_put_bytes(&text, "pointer and more", 7);
    hew_text_put(&text, "");
    hew_text_put(&text, ")");
    CHECK_TEXT(buffer, "free(pointer)");
    CHECK_EQUAL(text.length, strlen("free(pointer)"));
}

TEST(unsigned_numbers_are_written_from_zero_to_the_largest)
{
    start();
    hew_text_put_unsigned(&text, 0);
    hew_text_put(&text, " ");
    hew_text_put_unsigned(&text, 1048576);
    hew_text_put(&text, " ");
    hew_text_put_unsigned(&text, UINT64_MAX);
    CHECK_TEXT(buffer, "0 1048576 18446744073709551615");
}

TEST(signed_numbers_reach_both_ends_of_their_range)
{
    start();
    hew_text_put_signed(&text, -1);
    hew_text_put(&text, " ");
    hew_text_put_signed(&text, INT64_MIN);
    hew_text_put(&text, " ");
    hew_text_put_signed(&text, INT64_MAX);
    CHECK_TEXT(buffer, "-1 -9223372036854775808 9223372036854775807");
}

TEST(hexadecimal_numbers_have_a_prefix_and_no_leading_zeros)
{
    start();
    hew_text_put_hex(&text, 0);
    hew_text_put(&text, " ");
    hew_text_put_hex(&text, 0x7f00abcd);
    hew_text_put(&text, " ");
    hew_text_put_hex(&text, UINT64_MAX);
    CHECK_TEXT(buffer, "0x0 0x7f00abcd 0xffffffffffffffff");
}

TEST(thousandths_lose_their_trailing_zeros)
{
    start();
    hew_text_put_thousandths(&text, 4000);
    hew_text_put(&text, " ");
    hew_text_put_thousandths(&text, 1250);
    hew_text_put(&text, " ");
    hew_text_put_thousandths(&text, 5);
    hew_text_put(&text, " ");
    hew_text_put_thousandths(&text, 0);
    CHECK_TEXT(buffer, "4 1.25 0.005 0");
}

TEST(padding_aligns_numbers_right_and_names_left)
{
    start();
    hew_text_put_column(&text, "bin", 6);
    hew_text_put_padded(&text, 42, 5);
    hew_text_put_padded(&text, 123456, 3);
    hew_text_put_column(&text, "longer", 2);
    CHECK_TEXT(buffer, "bin      42123456longer");
}

TEST(control_bytes_from_outside_become_question_marks)
{
    start();
    hew_text_put_printable(&text, "a\n\x1b[0m\x7f\xc3\xa9", 9);
    CHECK_TEXT(buffer, "a??[0m?\xc3\xa9");
}

TEST(a_text_that_exactly_fits_is_not_cut)
{
    memset(buffer, '#', sizeof(buffer));
    hew_text_begin(&text, buffer, 6);
    hew_text_put(&text, "abcde");
    CHECK_TEXT(buffer, "abcde");
    CHECK(!text.truncated);
    CHECK_EQUAL(buffer[6], '#');
}

TEST(a_text_that_does_not_fit_is_cut_visibly_and_takes_no_more)
{
    memset(buffer, '#', sizeof(buffer));
    hew_text_begin(&text, buffer, 11);
    hew_text_put(&text, "address ");
    hew_text_put_hex(&text, 0xdeadbeef);
    CHECK_TEXT(buffer, "address...");
    CHECK(text.truncated);
    CHECK_EQUAL(buffer[11], '#');
    hew_text_put(&text, "later");
    CHECK_TEXT(buffer, "address...");
}

TEST(a_full_text_shows_the_cut_when_the_next_piece_finds_no_room)
{
    hew_text_begin(&text, buffer, 9);
    hew_text_put(&text, "eight888");
    CHECK(!text.truncated);
    hew_text_put_unsigned(&text, 7);
    CHECK_TEXT(buffer, "eight...");
}

TEST(buffers_too_small_for_the_mark_stay_safe)
{
    for (size_t capacity = 0; capacity < 4; capacity++) {
        memset(buffer, '#', sizeof(buffer));
        hew_text_begin(&text, buffer, capacity);
        hew_text_put(&text, "too long");
        CHECK(text.truncated);
        CHECK_EQUAL(text.length, capacity == 0 ? 0 : capacity - 1);
        CHECK_EQUAL(buffer[capacity], '#');
    }
}

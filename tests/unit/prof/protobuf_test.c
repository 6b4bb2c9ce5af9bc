/* SPDX-License-Identifier: MIT */
#include "prof/protobuf.h"

#include "test.h"

static uint8_t bytes[256];
static struct hew_protobuf message;

static void
begin(size_t capacity)
{
    message = (struct hew_protobuf){bytes, 0, capacity};
}

static void
check_bytes(const char *wanted, size_t length)
{
    CHECK_EQUAL(message.length, length);
    CHECK(memcmp(bytes, wanted, length) == 0);
}

TEST(numbers_are_varints_and_zero_is_left_out)
{
    begin(sizeof bytes);
    hew_protobuf_number(&message, 1, 150);
    hew_protobuf_number(&message, 2, 0);
    hew_protobuf_number(&message, 3, UINT64_MAX);
    check_bytes("\x08\x96\x01\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 14);
}

TEST(texts_and_messages_have_their_length_in_front)
{
    begin(sizeof bytes);
    hew_protobuf_bytes(&message, 2, "testing", 7);
    hew_protobuf_bytes(&message, 6, "", 0);
    hew_protobuf_head(&message, 3, 300);
    check_bytes("\x12\x07testing\x32\x00\x1a\xac\x02", 14);
}

TEST(packed_numbers_keep_their_zeros)
{
    static const uint64_t numbers[] = {3, 0, 270, 86942};
    begin(sizeof bytes);
    hew_protobuf_packed(&message, 4, numbers, 4);
    check_bytes("\x22\x07\x03\x00\x8e\x02\x9e\xa7\x05", 9);
}

TEST(what_does_not_fit_is_left_out_whole)
{
    begin(40);
    hew_protobuf_bytes(&message, 1, bytes, 30);
    CHECK_EQUAL(message.length, 0);
    hew_protobuf_bytes(&message, 1, "12345", 5);
    CHECK_EQUAL(message.length, 7);
}

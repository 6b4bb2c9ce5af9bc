/* SPDX-License-Identifier: MIT */
#include "stats/json.h"

#include "test.h"

static char heard[HEW_WRITER_BYTES];
static struct hew_writer out;
static struct hew_json json;

static void
hear(void *context, const char *piece)
{
    strcpy(heard, piece);
}

static void
begin(void)
{
    heard[0] = '\0';
    hew_writer_begin(&out, hear, NULL);
    json = (struct hew_json){.out = &out};
}

static const char *
escaped(const char *text)
{
    begin();
    hew_json_text(&json, NULL, text);
    hew_writer_end(&out);
    return heard;
}

TEST(commas_stand_between_members_only)
{
    begin();
    hew_json_open(&json, NULL, '{');
    hew_json_open(&json, "empty", '{');
    hew_json_close(&json, '}');
    hew_json_unsigned(&json, "n", UINT64_MAX);
    hew_json_signed(&json, "s", -1);
    hew_json_open(&json, "array", '[');
    hew_json_bool(&json, NULL, true);
    hew_json_bool(&json, NULL, false);
    hew_json_open(&json, NULL, '{');
    hew_json_close(&json, '}');
    hew_json_close(&json, ']');
    hew_json_text(&json, "t", "x");
    hew_json_close(&json, '}');
    hew_writer_end(&out);
    CHECK_TEXT(heard, "{\"empty\":{},\"n\":18446744073709551615,\"s\":-1,\"array\":[true,false,{}],\"t\":\"x\"}");
}

TEST(quotes_backslashes_and_control_bytes_are_escaped)
{
    CHECK_TEXT(escaped("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
    CHECK_TEXT(escaped("\t\n\x01\x1f "), "\"\\u0009\\u000a\\u0001\\u001f \"");
}

TEST(characters_beyond_ascii_stay_as_they_are)
{
    CHECK_TEXT(escaped("\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x98\x7f"), "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x98\x7f\"");
}

TEST(bytes_that_are_no_character_are_replaced)
{
    CHECK_TEXT(escaped("\xe9t\xe9"), "\"\\ufffdt\\ufffd\"");
    CHECK_TEXT(escaped("\xc3"), "\"\\ufffd\"");
    CHECK_TEXT(escaped("\xe2\x82"), "\"\\ufffd\\ufffd\"");
    CHECK_TEXT(escaped("\xc0\x80"), "\"\\ufffd\\ufffd\"");
    CHECK_TEXT(escaped("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");
    CHECK_TEXT(escaped("\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    CHECK_TEXT(escaped("\xf5\x80\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    CHECK_TEXT(escaped("\x80z"), "\"\\ufffdz\"");
}

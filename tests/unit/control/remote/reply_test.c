/* SPDX-License-Identifier: MIT */
#include "control/remote/reply.h"

#include "test.h"

static bool
is(const struct hew_reply *reply, const char *text)
{
    size_t length = reply->length - reply->from;
    return length == strlen(text) && memcmp(reply->at + reply->from, text, length) == 0;
}

TEST(an_answer_has_a_head_with_its_length)
{
    struct hew_reply reply = {.at = NULL};
    hew_reply_put(&reply, "one ");
    hew_reply_put_bytes(&reply, "two!", 3);
    hew_reply_end(&reply, "text");
    CHECK(is(&reply, "ok text 7\none two\n"));
    hew_reply_give(&reply);
    CHECK(reply.at == NULL);
    hew_reply_end(&reply, "void");
    CHECK(is(&reply, "ok void 0\n\n"));
    hew_reply_give(&reply);
}

TEST(an_error_takes_the_place_of_what_there_was)
{
    struct hew_reply reply = {.at = NULL};
    hew_reply_put(&reply, "half an answer");
    hew_reply_refuse(&reply, "busy", "not now: ", "name");
    CHECK(is(&reply, "error busy 13\nnot now: name\n"));
    hew_reply_give(&reply);
}

TEST(a_long_answer_is_whole)
{
    static char piece[1000];
    struct hew_reply reply = {.at = NULL};
    memset(piece, 'x', sizeof piece);
    for (int turn = 0; turn < 5000; turn++) {
        piece[0] = (char)('a' + turn % 26);
        hew_reply_put_bytes(&reply, piece, sizeof piece);
    }
    hew_reply_end(&reply, "text");
    CHECK_EQUAL(reply.length - reply.from, strlen("ok text 5000000\n") + 5000000 + 1);
    const char *bytes = reply.at + reply.from + strlen("ok text 5000000\n");
    for (int turn = 0; turn < 5000; turn++) {
        CHECK(bytes[turn * 1000] == (char)('a' + turn % 26) && bytes[turn * 1000 + 999] == 'x');
    }
    hew_reply_give(&reply);
}

TEST(an_answer_beyond_all_measure_becomes_an_error)
{
    struct hew_reply reply = {.at = NULL};
    CHECK(hew_reply_room(&reply, HEW_REPLY_MOST + 1) == NULL);
    CHECK(hew_reply_room(&reply, HEW_REPLY_MOST) == NULL);
    CHECK(reply.failed);
    hew_reply_end(&reply, "text");
    CHECK(reply.at != NULL && memcmp(reply.at + reply.from, "error no-memory ", 16) == 0);
    hew_reply_give(&reply);
}

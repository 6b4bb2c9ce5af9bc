/* SPDX-License-Identifier: MIT */
#include "prof/event.h"

#include "base/options.h"
#include "os/syscall.h"
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static char told[1 << 16];

static void
take_text(void *context, const char *text)
{
    snprintf(told, sizeof told, "%s", text);
    *(unsigned *)context += 1;
}

static struct hew_event_end
here(uint64_t thread, const char *name)
{
    static uintptr_t frames[] = {0x10, 0x20};
    struct hew_event_end end = {.time_ns = 5, .thread = thread, .depth = 2, .frames = frames};
    strcpy(end.name, name);
    return end;
}

static struct hew_event *
begin(size_t size)
{
    struct hew_event_end end = here(1, "a \"name\"");
    return hew_event_begin(size, 2 * size, &end);
}

static const char *
recent(void)
{
    unsigned calls = 0;
    CHECK(hew_event_tell_recent(take_text, &calls, 1024));
    CHECK_EQUAL(calls, 1);
    return told;
}

TEST(nothing_is_kept_while_nobody_wants_it)
{
    CHECK(!hew_event_wanted());
    CHECK(begin(1) == NULL);
    CHECK_TEXT(recent(), "{\"sample_interval\":1024,\"recent_alloc_max\":0,\"recent_alloc\":[]}");
}

TEST(the_latest_samples_are_told_in_their_order)
{
    hew_event_keep_recent(2);
    struct hew_event *events[3] = {begin(10), begin(20), begin(30)};
    struct hew_event_end end = here(2, "");
    hew_event_end(events[1], &end);
    CHECK_TEXT(
        recent(),
        "{\"sample_interval\":1024,\"recent_alloc_max\":2,\"recent_alloc\":["
        "{\"size\":20,\"usize\":40,\"released\":true,\"alloc_thread_uid\":1,\"alloc_thread_name\":\"a \\\"name\\\"\","
        "\"alloc_time\":5,\"alloc_trace\":[\"0x10\",\"0x20\"],\"dalloc_thread_uid\":2,\"dalloc_time\":5,"
        "\"dalloc_trace\":[\"0x10\",\"0x20\"]},"
        "{\"size\":30,\"usize\":60,\"released\":false,\"alloc_thread_uid\":1,\"alloc_thread_name\":\"a \\\"name\\\"\","
        "\"alloc_time\":5,\"alloc_trace\":[\"0x10\",\"0x20\"]}]}");
    hew_event_end(events[0], &end);
    hew_event_keep_recent(0);
    hew_event_end(events[2], NULL);
    CHECK_TEXT(recent(), "{\"sample_interval\":1024,\"recent_alloc_max\":0,\"recent_alloc\":[]}");
}

TEST(with_minus_one_every_sample_is_kept)
{
    hew_event_keep_recent(-1);
    struct hew_event *events[100];
    for (unsigned i = 0; i < 100; i++) {
        events[i] = begin(i + 1);
    }
    CHECK(strstr(recent(), "\"size\":1,") != NULL && strstr(told, "\"size\":100,") != NULL);
    for (unsigned i = 0; i < 100; i++) {
        hew_event_end(events[i], NULL);
    }
    hew_event_keep_recent(0);
}

TEST(a_log_holds_what_began_and_ended_in_it)
{
    char path[] = "/tmp/hew_event_XXXXXX", text[4096] = "";
    int file = mkstemp(path);
    CHECK(!hew_event_log_end(path));
    hew_event_keep_recent(1);
    struct hew_event *before = begin(7);
    CHECK(hew_event_log_begin());
    CHECK(!hew_event_log_begin());
    struct hew_event *inside = begin(8), *after = begin(9);
    struct hew_event_end end = here(2, "other");
    hew_event_end(before, &end);
    hew_event_end(inside, &end);
    CHECK(hew_event_log_end(path));
    hew_event_end(after, &end);
    CHECK(read(file, text, sizeof text - 1) > 0);
    CHECK(strstr(
              text,
              "\"threads\":[{\"thr_uid\":1,\"thr_name\":\"a \\\"name\\\"\"},{\"thr_uid\":2,\"thr_name\":\"other\"}]") !=
          NULL);
    CHECK(strstr(text, "\"allocations\":[{\"alloc_thread\":1,\"free_thread\":2,\"alloc_trace\":0,\"free_trace\":1,"
                       "\"alloc_timestamp\":5,\"free_timestamp\":5,\"usize\":16}]}") != NULL);
    hew_event_keep_recent(0);
    close(file);
    unlink(path);
}

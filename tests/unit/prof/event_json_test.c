/* SPDX-License-Identifier: MIT */
/* Unit tests of prof/event_json: the log of samples. */
#include "prof/event_json.h"

#include "base/size_class.h"
#include "os/memory.h"
#include "test.h"

#include <string.h>

#define EVENTS 100000

/* Not by strstr(): the address sanitizer's looks at the whole rest of the text each time. */
static unsigned
occurrences(const char *text, const char *words)
{
    unsigned count = 0;
    for (size_t length = strlen(words); *text != '\0'; text++) {
        count += *text == *words && strncmp(text, words, length) == 0;
    }
    return count;
}

/* The latest half is one thread's, the older half another's, freed by a third: what took a walk from the front for each
 * event would take minutes here. */
TEST(a_long_log_names_each_thread_once)
{
    struct hew_event *events = hew_os_map(hew_bits_round_up(EVENTS * sizeof *events, HEW_PAGE), HEW_PAGE);
    size_t bytes = HEW_EVENT_JSON_HEAD;
    for (unsigned i = 0; i < EVENTS; i++) {
        events[i].logged = i + 1 < EVENTS ? &events[i + 1] : NULL;
        events[i].begin.thread = i < EVENTS / 2 ? 700 : 0;
        events[i].end.thread = i < EVENTS / 2 ? 700 : 63;
        bytes += hew_event_json_bytes(&events[i]);
    }
    char *memory = hew_os_map(hew_bits_round_up(bytes, HEW_PAGE), HEW_PAGE);
    struct hew_text text;
    hew_text_begin(&text, memory, bytes);
    hew_event_json_log(&text, events, 1);
    CHECK(!text.truncated);
    CHECK_EQUAL(occurrences(memory, "\"thr_uid\":"), 3);
    CHECK_EQUAL(occurrences(memory, "\"thr_uid\":700,"), 1);
    CHECK_EQUAL(occurrences(memory, "\"thr_uid\":63,"), 1);
    CHECK_EQUAL(occurrences(memory, "\"thr_uid\":0,"), 1);
    CHECK_EQUAL(occurrences(memory, "\"alloc_thread\":"), EVENTS);
}

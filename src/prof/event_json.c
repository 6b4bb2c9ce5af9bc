/* SPDX-License-Identifier: MIT */
#include "prof/event_json.h"

#include "base/options.h"
#include "base/size_class.h"
#include "os/memory.h"
#include "os/syscall.h"

#include <string.h>

#define FRAME_BYTES 22   /* "0x7fffffffffff1234", */
#define EVENT_BYTES 1024 /* keys and numbers; escaping may double a name of 15 bytes */

size_t
hew_event_json_bytes(const struct hew_event *event)
{
    return EVENT_BYTES + (event->begin.depth + event->end.depth) * (size_t)FRAME_BYTES;
}

static void
put_number(struct hew_text *text, const char *before, uint64_t value)
{
    hew_text_put(text, before);
    hew_text_put_unsigned(text, value);
}

/* Names are printable, and may contain blanks. */
static void
put_name(struct hew_text *text, const char *before, const char *name)
{
    hew_text_put(text, before);
    hew_text_put(text, "\"");
    for (; *name != '\0'; name++) {
        if (*name == '"' || *name == '\\') {
            hew_text_put(text, "\\");
        }
        hew_text_put_printable(text, name, 1);
    }
    hew_text_put(text, "\"");
}

static void
put_frames(struct hew_text *text, const char *before, const struct hew_event_end *end)
{
    hew_text_put(text, before);
    hew_text_put(text, "[");
    for (unsigned i = 0; i < end->depth; i++) {
        hew_text_put(text, i == 0 ? "\"" : ",\"");
        hew_text_put_hex(text, end->frames[i]);
        hew_text_put(text, "\"");
    }
    hew_text_put(text, "]");
}

void
hew_event_json_recent_begin(struct hew_text *text, uint64_t interval, ssize_t most)
{
    put_number(text, "{\"sample_interval\":", interval);
    hew_text_put(text, ",\"recent_alloc_max\":");
    hew_text_put_signed(text, most);
    hew_text_put(text, ",\"recent_alloc\":[");
}

void
hew_event_json_recent(struct hew_text *text, const struct hew_event *event)
{
    put_number(text, "{\"size\":", event->size);
    put_number(text, ",\"usize\":", event->usable);
    hew_text_put(text, event->freed ? ",\"released\":true" : ",\"released\":false");
    put_number(text, ",\"alloc_thread_uid\":", event->begin.thread);
    if (event->begin.name[0] != '\0') {
        put_name(text, ",\"alloc_thread_name\":", event->begin.name);
    }
    put_number(text, ",\"alloc_time\":", event->begin.time_ns);
    put_frames(text, ",\"alloc_trace\":", &event->begin);
    if (event->freed && event->end.frames != NULL) {
        put_number(text, ",\"dalloc_thread_uid\":", event->end.thread);
        if (event->end.name[0] != '\0') {
            put_name(text, ",\"dalloc_thread_name\":", event->end.name);
        }
        put_number(text, ",\"dalloc_time\":", event->end.time_ns);
        put_frames(text, ",\"dalloc_trace\":", &event->end);
    }
    hew_text_put(text, "}");
}

static void
put_info(struct hew_text *text, uint64_t duration_ns)
{
    bool high = hew_options.prof_time_resolution == HEW_PROF_TIME_RESOLUTION_HIGH;
    put_number(text, "{\"info\":{\"duration\":", duration_ns);
    hew_text_put(text, ",\"version\":\"hew\"");
    put_number(text, ",\"lg_sample_rate\":", hew_options.lg_prof_sample);
    hew_text_put(text, high ? ",\"prof_time_resolution\":\"high\"" : ",\"prof_time_resolution\":\"default\"");
    put_number(text, ",\"pid\":", (uint64_t)hew_syscall1(SYS_getpid, 0));
    hew_text_put(text, "}");
}

/* Threads already written, one bit for each number. */
struct told {
    uint64_t *bits;
    size_t bytes;
    bool any;
};

static struct told
begin_told(const struct hew_event *logged)
{
    uint64_t most = 0;
    for (const struct hew_event *event = logged; event != NULL; event = event->logged) {
        most = event->begin.thread > most ? event->begin.thread : most;
        most = event->end.thread > most ? event->end.thread : most;
    }
    size_t bytes = hew_system_pages(most / 8 + sizeof(uint64_t));
    return (struct told){hew_os_map(bytes, HEW_PAGE), bytes, false};
}

static void
put_thread(struct hew_text *text, const struct hew_event_end *end, struct told *told)
{
    uint64_t *word = &told->bits[end->thread / 64], bit = UINT64_C(1) << end->thread % 64;
    if ((*word & bit) == 0) {
        *word |= bit;
        put_number(text, told->any ? ",{\"thr_uid\":" : "{\"thr_uid\":", end->thread);
        put_name(text, ",\"thr_name\":", end->name);
        hew_text_put(text, "}");
        told->any = true;
    }
}

/* Writes each thread once; none without memory. */
static void
put_threads(struct hew_text *text, const struct hew_event *logged)
{
    struct told told = begin_told(logged);
    hew_text_put(text, ",\"threads\":[");
    for (const struct hew_event *event = logged; event != NULL && told.bits != NULL; event = event->logged) {
        put_thread(text, &event->begin, &told);
        put_thread(text, &event->end, &told);
    }
    hew_text_put(text, "]");
    if (told.bits != NULL) {
        hew_os_unmap(told.bits, told.bytes);
    }
}

void
hew_event_json_log(struct hew_text *text, const struct hew_event *logged, uint64_t duration_ns)
{
    put_info(text, duration_ns);
    put_threads(text, logged);
    hew_text_put(text, ",\"stack_traces\":[");
    for (const struct hew_event *event = logged; event != NULL; event = event->logged) {
        put_frames(text, event == logged ? "" : ",", &event->begin);
        put_frames(text, ",", &event->end);
    }
    hew_text_put(text, "],\"allocations\":[");
    uint64_t traces = 0;
    for (const struct hew_event *event = logged; event != NULL; event = event->logged) {
        put_number(text, event == logged ? "{\"alloc_thread\":" : ",{\"alloc_thread\":", event->begin.thread);
        put_number(text, ",\"free_thread\":", event->end.thread);
        put_number(text, ",\"alloc_trace\":", traces++);
        put_number(text, ",\"free_trace\":", traces++);
        put_number(text, ",\"alloc_timestamp\":", event->begin.time_ns);
        put_number(text, ",\"free_timestamp\":", event->end.time_ns);
        put_number(text, ",\"usize\":", event->usable);
        hew_text_put(text, "}");
    }
    hew_text_put(text, "]}");
}

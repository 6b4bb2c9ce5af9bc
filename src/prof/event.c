/* SPDX-License-Identifier: MIT */
#include "prof/event.h"

#include "base/options.h"
#include "base/size_class.h"
#include "meta/memory.h"
#include "os/clock.h"
#include "os/memory.h"
#include "prof/event_json.h"
#include "prof/sink.h"

#include <stdatomic.h>
#include <string.h>

struct hew_mutex hew_event_lock = HEW_MUTEX(event);

static _Atomic ssize_t recent_most; /* written under the lock */
static _Atomic uint64_t log_now;    /* the number of the running log, 0: none; written under the lock */

/* Guarded by hew_event_lock. */
static struct hew_list recent = {&recent, &recent}; /* oldest first */
static size_t recent_count;
static struct hew_event *logged; /* newest first */
static uint64_t logs_ever, log_began_ns;

bool
hew_event_wanted(void)
{
    return atomic_load_explicit(&recent_most, memory_order_relaxed) != 0 ||
           atomic_load_explicit(&log_now, memory_order_relaxed) != 0;
}

uint64_t
hew_event_now_ns(void)
{
    bool high = hew_options.prof_time_resolution == HEW_PROF_TIME_RESOLUTION_HIGH;
    return high ? hew_clock_wall_ns() : hew_clock_ms() * 1000000;
}

static bool
copy_end(struct hew_event_end *to, const struct hew_event_end *from)
{
    *to = *from;
    to->frames = hew_meta_take(from->depth * sizeof *from->frames);
    if (to->frames == NULL) {
        to->depth = 0;
        return false;
    }
    memcpy(to->frames, from->frames, from->depth * sizeof *from->frames);
    return true;
}

static void
drop_end(struct hew_event_end *end)
{
    if (end->frames != NULL) {
        hew_meta_give(end->frames, end->depth * sizeof *end->frames);
    }
}

/* Lock held. */
static void
let_go(struct hew_event *event)
{
    if (--event->holders == 0) {
        drop_end(&event->begin);
        drop_end(&event->end);
        hew_meta_give(event, sizeof *event);
    }
}

/* Under the lock. */
static void
unlist_oldest(void)
{
    struct hew_event *event = HEW_CONTAINER(recent.next, struct hew_event, recent);
    hew_list_remove(&event->recent);
    event->listed = false;
    recent_count--;
    let_go(event);
}

/* Under the lock. */
static void
trim(void)
{
    ssize_t most = atomic_load_explicit(&recent_most, memory_order_relaxed);
    while (most >= 0 && recent_count > (size_t)most) {
        unlist_oldest();
    }
}

struct hew_event *
hew_event_begin(size_t size, size_t usable, const struct hew_event_end *begin)
{
    struct hew_event *event = hew_event_wanted() ? hew_meta_take(sizeof *event) : NULL;
    if (event == NULL) {
        return NULL;
    }
    event->size = size;
    event->usable = usable;
    event->holders = 1;
    if (!copy_end(&event->begin, begin)) {
        hew_meta_give(event, sizeof *event);
        return NULL;
    }
    hew_mutex_lock(&hew_event_lock);
    event->log = atomic_load_explicit(&log_now, memory_order_relaxed);
    if (atomic_load_explicit(&recent_most, memory_order_relaxed) != 0) {
        hew_list_push_back(&recent, &event->recent);
        event->listed = true;
        event->holders++;
        recent_count++;
        trim();
    }
    hew_mutex_unlock(&hew_event_lock);
    return event;
}

void
hew_event_end(struct hew_event *event, const struct hew_event_end *end)
{
    hew_mutex_lock(&hew_event_lock);
    bool in_log = event->log != 0 && event->log == atomic_load_explicit(&log_now, memory_order_relaxed);
    event->freed = true;
    if (end != NULL && (event->listed || in_log)) {
        copy_end(&event->end, end);
    }
    if (in_log && end != NULL) {
        event->logged = logged;
        logged = event;
    } else {
        let_go(event);
    }
    hew_mutex_unlock(&hew_event_lock);
}

ssize_t
hew_event_recent_most(void)
{
    return atomic_load_explicit(&recent_most, memory_order_relaxed);
}

void
hew_event_keep_recent(ssize_t most)
{
    hew_mutex_lock(&hew_event_lock);
    atomic_store_explicit(&recent_most, most, memory_order_relaxed);
    trim();
    hew_mutex_unlock(&hew_event_lock);
}

/* Maps memory for the text that `measure` sizes; the size is stable only under the lock.  Returns with the lock held,
 * or NULL without it. */
static char *
text_under_lock(size_t (*measure)(void), size_t *bytes)
{
    char *memory = NULL;
    *bytes = 0;
    for (;;) {
        hew_mutex_lock(&hew_event_lock);
        size_t needed = measure();
        if (memory != NULL && needed <= *bytes) {
            return memory;
        }
        hew_mutex_unlock(&hew_event_lock);
        if (memory != NULL) {
            hew_os_unmap(memory, *bytes);
        }
        *bytes = hew_system_pages(needed + needed / 4);
        memory = hew_os_map(*bytes, HEW_PAGE);
        if (memory == NULL) {
            return NULL;
        }
    }
}

static size_t
measure_recent(void)
{
    size_t bytes = HEW_EVENT_JSON_HEAD;
    for (struct hew_list *node = recent.next; node != &recent; node = node->next) {
        bytes += hew_event_json_bytes(HEW_CONTAINER(node, struct hew_event, recent));
    }
    return bytes;
}

bool
hew_event_tell_recent(void (*write)(void *context, const char *text), void *context, uint64_t interval)
{
    size_t bytes;
    struct hew_text text;
    char *memory = text_under_lock(measure_recent, &bytes);
    if (memory == NULL) {
        return false;
    }
    hew_text_begin(&text, memory, bytes);
    hew_event_json_recent_begin(&text, interval, hew_event_recent_most());
    for (struct hew_list *node = recent.next; node != &recent; node = node->next) {
        hew_text_put(&text, node == recent.next ? "" : ",");
        hew_event_json_recent(&text, HEW_CONTAINER(node, struct hew_event, recent));
    }
    hew_text_put(&text, "]}");
    hew_mutex_unlock(&hew_event_lock);
    write(context, memory);
    hew_os_unmap(memory, bytes);
    return true;
}

bool
hew_event_log_begin(void)
{
    hew_mutex_lock(&hew_event_lock);
    bool idle = atomic_load_explicit(&log_now, memory_order_relaxed) == 0;
    if (idle) {
        atomic_store_explicit(&log_now, ++logs_ever, memory_order_relaxed);
        log_began_ns = hew_event_now_ns();
    }
    hew_mutex_unlock(&hew_event_lock);
    return idle;
}

static size_t
measure_log(void)
{
    size_t bytes = HEW_EVENT_JSON_HEAD;
    for (const struct hew_event *event = logged; event != NULL; event = event->logged) {
        bytes += hew_event_json_bytes(event);
    }
    return bytes;
}

static bool
write_text(const char *path, const struct hew_text *text)
{
    size_t bytes = hew_system_pages(sizeof(struct hew_sink));
    struct hew_sink *sink = hew_os_map(bytes, HEW_PAGE);
    bool written = sink != NULL && hew_sink_open(sink, path);
    if (written) {
        hew_sink_put(sink, text->at, text->length);
        written = hew_sink_close(sink);
    }
    if (sink != NULL) {
        hew_os_unmap(sink, bytes);
    }
    return written;
}

bool
hew_event_log_end(const char *path)
{
    size_t bytes;
    struct hew_text text;
    if (atomic_load_explicit(&log_now, memory_order_relaxed) == 0) {
        return false;
    }
    char *memory = text_under_lock(measure_log, &bytes);
    if (memory == NULL) {
        return false;
    }
    if (atomic_load_explicit(&log_now, memory_order_relaxed) == 0) { /* another thread ended the log first */
        hew_mutex_unlock(&hew_event_lock);
        hew_os_unmap(memory, bytes);
        return false;
    }
    hew_text_begin(&text, memory, bytes);
    uint64_t now = hew_event_now_ns(); /* wall-clock time may have been set back */
    hew_event_json_log(&text, logged, now > log_began_ns ? now - log_began_ns : 0);
    while (logged != NULL) {
        struct hew_event *next = logged->logged;
        let_go(logged);
        logged = next;
    }
    atomic_store_explicit(&log_now, 0, memory_order_relaxed);
    hew_mutex_unlock(&hew_event_lock);
    bool written = write_text(path, &text);
    hew_os_unmap(memory, bytes);
    return written;
}

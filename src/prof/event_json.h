/* SPDX-License-Identifier: MIT */
/*
 * event_json: events as JSON, with jemalloc's keys.
 *
 * Called    under hew_event_lock, with a text that is large enough.
 */
#ifndef HEW_PROF_EVENT_JSON_H
#define HEW_PROF_EVENT_JSON_H

#include "prof/event.h"

#define HEW_EVENT_JSON_HEAD 1024 /* bytes for everything around the events */

/* At most so many bytes tell of the event, in either form. */
size_t hew_event_json_bytes(const struct hew_event *event);

/* {..., "recent_alloc":[ and one element of it; the caller puts the commas and the end. */
void hew_event_json_recent_begin(struct hew_text *text, uint64_t interval, ssize_t most);
void hew_event_json_recent(struct hew_text *text, const struct hew_event *event);

/* The whole log, latest event first, which ran for so long. */
void hew_event_json_log(struct hew_text *text, const struct hew_event *logged, uint64_t duration_ns);

#endif

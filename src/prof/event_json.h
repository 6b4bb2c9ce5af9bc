/* SPDX-License-Identifier: MIT */
/*
 * event_json: events as JSON, with jemalloc's keys.
 *
 * Called    under hew_event_lock, with a text buffer that is large enough.
 */
#ifndef HEW_PROF_EVENT_JSON_H
#define HEW_PROF_EVENT_JSON_H

#include "prof/event.h"

#define HEW_EVENT_JSON_HEAD 1024 /* bytes for everything except the events */

/* Upper bound of the bytes that the event takes in either form. */
size_t hew_event_json_bytes(const struct hew_event *event);

/* Writes the document up to "recent_alloc":[ and then one element of it; the caller writes the commas and the end. */
void hew_event_json_recent_begin(struct hew_text *text, uint64_t interval, ssize_t most);
void hew_event_json_recent(struct hew_text *text, const struct hew_event *event);

/* Writes the whole log, newest event first; it ran for `duration_ns`. */
void hew_event_json_log(struct hew_text *text, const struct hew_event *logged, uint64_t duration_ns);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * json: one JSON text on one line, without blanks.
 *
 * Promises  commas where they belong; strings are escaped, and bytes that are not UTF-8 replaced, so that any reader
 *           takes it.  Closing what was opened, and naming each key once, is the caller's.
 */
#ifndef HEW_STATS_JSON_H
#define HEW_STATS_JSON_H

#include "stats/writer.h"

struct hew_json {
    struct hew_writer *out;
    bool follows; /* something stands before in the same object or array */
};

/* `key` is NULL for the members of an array, and outermost. */
void hew_json_open(struct hew_json *json, const char *key, char bracket);
void hew_json_close(struct hew_json *json, char bracket);
void hew_json_unsigned(struct hew_json *json, const char *key, uint64_t value);
void hew_json_signed(struct hew_json *json, const char *key, int64_t value);
void hew_json_bool(struct hew_json *json, const char *key, bool value);
void hew_json_text(struct hew_json *json, const char *key, const char *value);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * json: writes one JSON text on one line, without blanks.
 *
 * Promises  correct commas; strings are escaped and invalid UTF-8 is replaced, so that any reader accepts the text.
 *           The caller must close what it opens, and use each key once.
 */
#ifndef HEW_STATS_JSON_H
#define HEW_STATS_JSON_H

#include "stats/writer.h"

struct hew_json {
    struct hew_writer *out;
    bool follows; /* the object or array has a member already */
};

/* `key` is NULL for members of an array and at the top level. */
void hew_json_open(struct hew_json *json, const char *key, char bracket);
void hew_json_close(struct hew_json *json, char bracket);
void hew_json_unsigned(struct hew_json *json, const char *key, uint64_t value);
void hew_json_signed(struct hew_json *json, const char *key, int64_t value);
void hew_json_bool(struct hew_json *json, const char *key, bool value);
void hew_json_text(struct hew_json *json, const char *key, const char *value);

#endif

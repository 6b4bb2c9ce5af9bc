/* SPDX-License-Identifier: MIT */
/*
 * conf: parses MALLOC_CONF text into struct hew_options.
 *
 * Owns      the syntax name:value,name:value and the messages about errors and their corrections.
 * Promises  jemalloc's interpretation: a later pair wins over an earlier one; a bad pair is skipped and the rest
 *           applies; text that is not a list of pairs ends that source.  Names of earlier jemalloc versions, and bad
 *           pairs whose name begins with experimental_, are reported but not counted.  No malloc, no stdio, no locale:
 *           it runs before constructors.
 * Called    at boot, by one thread.
 * Not here  values: conf_value.c.  Where text comes from, and aborting: conf_sources.c.
 */
#ifndef HEW_CONTROL_SETTINGS_CONF_H
#define HEW_CONTROL_SETTINGS_CONF_H

#include "base/options.h"

/* Receives one line for the user; it ends in a newline and a NUL, and length includes the newline. */
typedef void (*hew_conf_warn)(void *context, const char *line, size_t length);

/* Applies text (NULL: nothing) and returns the number of bad pairs.  Every message contains source_name. */
size_t hew_conf_parse(struct hew_options *options, const char *text, const char *source_name, hew_conf_warn warn,
                      void *context);

/* Sets *value from the last well-formed pair with this name if its value is true or false; reports nothing. */
void hew_conf_read_bool(const char *text, const char *name, bool *value);

/* Copies the value of the last well-formed pair with this name; reports nothing.  False, with an empty value: it is
 * missing, empty or too long. */
bool hew_conf_read_text(const char *text, const char *name, char *value, size_t capacity);

#endif

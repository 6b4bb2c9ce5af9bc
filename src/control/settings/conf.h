/* SPDX-License-Identifier: MIT */
/*
 * conf: MALLOC_CONF text into struct hew_options.
 *
 * Owns      the syntax name:value,name:value and the lines that tell what was wrong and what would be right.
 * Promises  jemalloc's reading of the text: a later pair wins over an earlier one; a bad pair is left out and the rest
 *           applies; text that is no list of pairs ends that source; names of earlier jemallocs, and bad pairs whose
 *           name begins with experimental_, are told but not counted.  No malloc, no stdio, no locale: it runs before
 *           constructors.
 * Called    at boot, by one thread.
 * Not here  values: conf_value.c.  Where text comes from, and aborting: conf_sources.c.
 */
#ifndef HEW_CONTROL_SETTINGS_CONF_H
#define HEW_CONTROL_SETTINGS_CONF_H

#include "base/options.h"

/* Takes one line for the user: it ends in a newline and a NUL, length counts the newline. */
typedef void (*hew_conf_warn)(void *context, const char *line, size_t length);

/* Applies text (NULL: nothing) and returns how many pairs were bad.  source_name stands in every line. */
size_t hew_conf_parse(struct hew_options *options, const char *text, const char *source_name, hew_conf_warn warn,
                      void *context);

/* Sets *value to what the last well-formed pair called name says, if it says true or false; tells nothing. */
void hew_conf_read_bool(const char *text, const char *name, bool *value);

/* Copies what the last well-formed pair called name says; tells nothing.  False: it says nothing, or more than fits, or there is none;
 * then value is empty. */
bool hew_conf_read_text(const char *text, const char *name, char *value, size_t capacity);

#endif

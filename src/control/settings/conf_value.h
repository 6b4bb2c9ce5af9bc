/* SPDX-License-Identifier: MIT */
/*
 * conf_value: parses the value of one setting into its field.
 *
 * Owns      the syntax of values, which is jemalloc's, but stricter where jemalloc accepts mistakes.  Numbers accept 0x
 *           and a leading 0 for octal; -1 wraps around for unsigned options; trailing text is an error.  An empty value
 *           is refused, where jemalloc takes it for 0 or for the first word.
 * Promises  a refused value leaves its field unchanged; an accepted one is in range.  No malloc, no libc beyond the mem
 *           functions and strlen: it runs before constructors.
 * Not here  names, pairs and messages: conf.c.
 */
#ifndef HEW_CONTROL_SETTINGS_CONF_VALUE_H
#define HEW_CONTROL_SETTINGS_CONF_VALUE_H

#include "base/options.h"

/* The letters of malloc_stats_print. */
#define HEW_CONF_LETTERS "Jgmdablxeh"

enum hew_conf_result {
    HEW_CONF_TAKEN,
    HEW_CONF_CLIPPED_TO_LOW,
    HEW_CONF_CLIPPED_TO_HIGH,
    HEW_CONF_CUT, /* a text that is too long, or unknown letters: the rest is accepted */
    HEW_CONF_REFUSED,
};

/* Sets the option's field from value[0 .. length). */
enum hew_conf_result hew_conf_value_take(struct hew_options *options, const struct hew_option *option,
                                         const char *value, size_t length);

/* Whether value equals word; with `beginning` set, any prefix of word matches. */
bool hew_conf_value_is(const char *value, size_t length, const char *word, bool beginning);

/* Size in bytes of a field that is a number, a bool or a choice; 0 for texts and ranges. */
size_t hew_conf_value_size(const struct hew_option *option);

#endif

/* SPDX-License-Identifier: MIT */
/* conf_name: see conf_name.h. */
#include "control/settings/conf_name.h"

#include "control/settings/conf_value.h"

#include <string.h>

/* The longest name of an option has 41 bytes; no longer text is near one. */
#define CONF_NEAR_BYTES 48

const struct hew_option *
hew_conf_name_find(const char *name, size_t length)
{
    const struct hew_option *option;

    for (option = hew_option_table; option->name[0] != '\0'; option++) {
        if (hew_conf_value_is(name, length, option->name, false)) {
            return option;
        }
    }
    for (option = hew_option_table; option->name[0] != '\0'; option++) {
        if (option->rule == HEW_RULE_PREFIX_NAME && hew_conf_value_is(name, length, option->name, true)) {
            return option;
        }
    }
    return NULL;
}

const struct hew_old_option *
hew_conf_name_find_old(const char *name, size_t length)
{
    for (const struct hew_old_option *old = hew_old_option_table; old->name != NULL; old++) {
        if (hew_conf_value_is(name, length, old->name, false)) {
            return old;
        }
    }
    return NULL;
}

static unsigned
smaller(unsigned left, unsigned right)
{
    return left < right ? left : right;
}

static char
lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : byte;
}

/* Levenshtein distance, one row at a time; at most `limit` + 1. */
static unsigned
edit_distance(const char *name, size_t length, const char *word, unsigned limit)
{
    unsigned row[CONF_NEAR_BYTES + 1];
    size_t word_length = strlen(word);

    if (word_length > length + limit || length > word_length + limit || word_length > CONF_NEAR_BYTES) {
        return limit + 1;
    }
    for (size_t column = 0; column <= word_length; column++) {
        row[column] = (unsigned)column;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned diagonal = row[0], best = row[0] = (unsigned)i + 1;
        for (size_t column = 1; column <= word_length; column++) {
            unsigned replaced = diagonal + (lower(name[i]) != word[column - 1]);
            diagonal = row[column];
            row[column] = smaller(replaced, smaller(row[column], row[column - 1]) + 1);
            best = smaller(best, row[column]);
        }
        if (best > limit) {
            return limit + 1;
        }
    }
    return row[word_length];
}

static bool
contains(const char *word, const char *name, size_t length)
{
    size_t word_length = strlen(word);

    for (size_t at = 0; at + length <= word_length; at++) {
        if (memcmp(word + at, name, length) == 0) {
            return true;
        }
    }
    return false;
}

const char *
hew_conf_name_nearest(const char *name, size_t length)
{
    unsigned limit = 1 + (unsigned)smaller((unsigned)length / 4, 3), best = limit + 1;
    const char *nearest = NULL;

    if (length < 3 || length > CONF_NEAR_BYTES) {
        return NULL;
    }
    for (const struct hew_option *option = hew_option_table; option->name[0] != '\0'; option++) {
        unsigned distance = edit_distance(name, length, option->name, limit);
        if (distance < best) {
            best = distance;
            nearest = option->name;
        }
    }
    for (const struct hew_option *option = hew_option_table; nearest == NULL && option->name[0] != '\0'; option++) {
        nearest = length >= 4 && contains(option->name, name, length) ? option->name : NULL;
    }
    return nearest;
}

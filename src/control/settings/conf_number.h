/* SPDX-License-Identifier: MIT */
/*
 * conf_number: numbers in the text of settings.
 */
#ifndef HEW_CONTROL_SETTINGS_CONF_NUMBER_H
#define HEW_CONTROL_SETTINGS_CONF_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hew_conf_number {
    uint64_t magnitude;
    bool negative;
};

/* Parses digits from `at` on and returns where they end; `at` itself when there are none or they overflow. */
const char *hew_conf_number_digits(const char *at, const char *end, unsigned base, uint64_t *value);

/* Like strtoumax with base 0: blanks, a sign, 0x or 0 before octal digits.  NULL when there is no number. */
const char *hew_conf_number_read(const char *at, const char *end, struct hew_conf_number *number);

#endif

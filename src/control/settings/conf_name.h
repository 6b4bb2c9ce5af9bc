/* SPDX-License-Identifier: MIT */
/*
 * conf_name: finds a setting's row in the table of options by its name.
 *
 * Owns      which prefixes of names are accepted, and what "near" means for a misspelt name.
 * Promises  an exact name wins over a prefix.  No malloc, no libc beyond the mem functions and strlen.
 * Not here  values: conf_value.c.  Messages: conf.c.
 */
#ifndef HEW_CONTROL_SETTINGS_CONF_NAME_H
#define HEW_CONTROL_SETTINGS_CONF_NAME_H

#include "base/options.h"

/* The option named name[0 .. length), or NULL. */
const struct hew_option *hew_conf_name_find(const char *name, size_t length);

/* Searches the names of earlier jemalloc versions. */
const struct hew_old_option *hew_conf_name_find_old(const char *name, size_t length);

/* The name that was probably meant: one with a small edit distance, or one that contains this one.  NULL when none is
 * near. */
const char *hew_conf_name_nearest(const char *name, size_t length);

#endif

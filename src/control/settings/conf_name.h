/* SPDX-License-Identifier: MIT */
/*
 * conf_name: from the name in a setting to its row in the table of options.
 *
 * Owns      which beginnings of names count, and what "near" means for a misspelt one.
 * Promises  an exact name wins over a beginning.  No malloc, no libc beyond the mem functions and strlen.
 * Not here  values: conf_value.c.  Messages: conf.c.
 */
#ifndef HEW_CONTROL_SETTINGS_CONF_NAME_H
#define HEW_CONTROL_SETTINGS_CONF_NAME_H

#include "base/options.h"

/* The option called name[0 .. length), or NULL. */
const struct hew_option *hew_conf_name_find(const char *name, size_t length);

/* The same among the names of earlier jemallocs. */
const struct hew_old_option *hew_conf_name_find_old(const char *name, size_t length);

/* The name that was probably meant: few letters away, or one that has this one in it.  NULL when none is near. */
const char *hew_conf_name_nearest(const char *name, size_t length);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * conf_pools: the value of the setting pools: SIZE-COUNT|SIZE-COUNT|...
 *
 * Promises  what has no fault reads as one declaration after the other, each size once, no product of the two beyond the
 *           address space.
 * Not here  making them: api/declared.c.
 */
#ifndef HEW_CONTROL_SETTINGS_CONF_POOLS_H
#define HEW_CONTROL_SETTINGS_CONF_POOLS_H

#include <stdbool.h>
#include <stddef.h>

struct hew_conf_pool {
    size_t size, count;
};

/* What is wrong with value[0 .. length), for people; NULL: nothing.  An empty one declares nothing. */
const char *hew_conf_pools_fault(const char *value, size_t length);

/* The first declaration of a text without fault; `*text` moves behind it.  False: there is none. */
bool hew_conf_pools_next(const char **text, struct hew_conf_pool *pool);

#endif

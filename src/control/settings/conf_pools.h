/* SPDX-License-Identifier: MIT */
/*
 * conf_pools: the value of the setting pools: SIZE-COUNT|SIZE-COUNT|...
 *
 * Promises  a valid value yields its declarations in order.  Each size occurs once; no SIZE * COUNT exceeds the address
 *           space.
 * Not here  creating the pools: api/declared.c.
 */
#ifndef HEW_CONTROL_SETTINGS_CONF_POOLS_H
#define HEW_CONTROL_SETTINGS_CONF_POOLS_H

#include <stdbool.h>
#include <stddef.h>

struct hew_conf_pool {
    size_t size, count;
};

/* The error in value[0 .. length), for people; NULL: none.  An empty value declares nothing. */
const char *hew_conf_pools_fault(const char *value, size_t length);

/* Reads the first declaration of a valid text and moves `*text` past it.  False: no declaration is left. */
bool hew_conf_pools_next(const char **text, struct hew_conf_pool *pool);

#endif

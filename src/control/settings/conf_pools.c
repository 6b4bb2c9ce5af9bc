/* SPDX-License-Identifier: MIT */
#include "control/settings/conf_pools.h"

#include "base/size_class.h"
#include "control/settings/conf_number.h"

#include <string.h>

#define BYTES_MAX ((size_t)1 << 46) /* the address space of a process */

/* Parses one declaration; returns its end, NULL when there is none. */
static const char *
read_pool(const char *at, const char *end, struct hew_conf_pool *pool)
{
    struct hew_conf_number size, count;
    at = hew_conf_number_read(at, end, &size);
    if (at == NULL || at == end || *at != '-' || size.negative) {
        return NULL;
    }
    at = hew_conf_number_read(at + 1, end, &count);
    if (at == NULL || count.negative || (at != end && (*at != '|' || at + 1 == end))) {
        return NULL;
    }
    *pool = (struct hew_conf_pool){size.magnitude, count.magnitude};
    return at == end ? end : at + 1;
}

/* Whether a declaration before `until` has that size. */
static bool
is_declared(const char *at, const char *until, const char *end, size_t size)
{
    struct hew_conf_pool pool = {0, 0};
    while (at < until && pool.size != size) {
        at = read_pool(at, end, &pool);
    }
    return pool.size == size;
}

_Static_assert(HEW_SMALL_MAX == 14336, "a line below names it");

static const char *
fault_of(const struct hew_conf_pool *pool)
{
    if (pool->size == 0) {
        return "a size of 0 is none";
    }
    if (pool->count == 0) {
        return "a count of 0 declares nothing";
    }
    if (pool->size > HEW_SMALL_MAX) {
        return "sizes go up to 14336; what is larger has pages of its own, which dirty_decay_ms keeps";
    }
    return pool->count > BYTES_MAX / pool->size ? "size times count is more than the address space" : NULL;
}

const char *
hew_conf_pools_fault(const char *value, size_t length)
{
    const char *end = value + length, *fault = NULL;
    for (const char *at = value, *next; at < end && fault == NULL; at = next) {
        struct hew_conf_pool pool;
        next = read_pool(at, end, &pool);
        if (next == NULL) {
            return "it is not SIZE-COUNT, or several joined by |, in whole numbers";
        }
        fault = fault_of(&pool);
        fault = fault == NULL && is_declared(value, at, end, pool.size) ? "a size stands there twice" : fault;
    }
    return fault;
}

bool
hew_conf_pools_next(const char **text, struct hew_conf_pool *pool)
{
    const char *end = *text + strlen(*text);
    if (*text == end) {
        return false;
    }
    *text = read_pool(*text, end, pool);
    return true;
}

/* SPDX-License-Identifier: MIT */
/* valid: a walk over one magazine, which never reads an object; long ones are not walked each time. */
#include "cache/valid.h"

#include "os/check.h"

/* The program's own mistakes end in fatal messages, each at its place; what is asked here must hold whatever it frees. */
static bool
object_valid(const void *object, unsigned code)
{
    unsigned shown = hew_map_code((uintptr_t)object);
    bool large = code > HEW_CODE_SMALL_LAST; /* one that was freed twice may lie in a depot as well */
    return object != NULL && (shown == code || shown == HEW_CODE_SLOW || (large && shown == HEW_CODE_NONE));
}

bool
hew_cache_class_valid(const struct hew_cache *cache, unsigned code)
{
    if (cache->base[code] == NULL) {
        return cache->limit[code] == NULL && cache->top[code][-1] == NULL;
    }
    size_t depth = hew_cache_depth(cache, code);
    bool inside = cache->top[code] > cache->base[code] && cache->top[code] <= cache->limit[code];
    if (!inside || cache->base[code][0] != NULL) {
        return false;
    }
    if (hew_check_may_walk(depth)) {
        for (size_t at = 1; at <= depth; at++) {
            if (!object_valid(cache->base[code][at], code)) {
                return false;
            }
        }
    }
    return true;
}

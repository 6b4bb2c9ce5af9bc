/* SPDX-License-Identifier: MIT */
#include "cache/again.h"

#include "cache/magazine.h"
#include "slab/large.h"

/* Whether the class's magazine is as large as it gets, and small. */
static bool
serves(const struct hew_cache *cache, unsigned code)
{
    return (cache->flags[code] & HEW_CLASS_GROWN) != 0 &&
           cache->limit[code] - cache->base[code] <= HEW_AGAIN_OBJECTS + 1;
}

void *
hew_again_take(struct hew_cache *cache, unsigned code)
{
    /* The last ticks are the magazine's: a period ends. */
    if (!serves(cache, code) || cache->top[code][-1] != NULL || cache->ticks[code] < 2) {
        return NULL;
    }
    const struct hew_extent *extent = hew_shelf_take_one(&cache->arena->pages.shelf, hew_slab_shapes[code].size, code);
    if (extent == NULL) {
        return NULL;
    }
    cache->ticks[code]--;
    cache->flags[code] |= HEW_CLASS_MISSED;
    hew_magazine_came_in(cache, code);
    return (void *)extent->address;
}

bool
hew_again_give(struct hew_cache *cache, unsigned code, void *object)
{
    struct hew_extent *extent = hew_map_extent((uintptr_t)object);
    bool usual = serves(cache, code) && hew_extent_is_out(extent, (uintptr_t)object, code);
    if (!usual || !hew_large_keep(extent)) {
        return false;
    }
    cache->flags[code] |= HEW_CLASS_MISSED;
    cache->balance[code]++;
    return true;
}

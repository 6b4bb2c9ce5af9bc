/* SPDX-License-Identifier: MIT */
/* own: a slot that a thread owns has limits of its own behind it. */
#include "cache/own.h"

#include "cache/budget.h"
#include "meta/memory.h"

#include <string.h>

/* A slot with limits of its own behind it. */
struct own_slot {
    struct hew_slot slot;
    uint16_t most[HEW_CODES];
};

bool
hew_own_make(struct hew_cache *cache)
{
    struct own_slot *own = hew_meta_take(sizeof *own);
    if (own == NULL) {
        return false;
    }
    memcpy(own->most, hew_budget_defaults(), sizeof own->most);
    hew_slot_begin(&own->slot, own->most);
    cache->own = &own->slot;
    cache->where = hew_slot_alone(&own->slot);
    return true;
}

/* The calling thread's fast paths use the slot that its cache says. */
static void
settle_home(struct hew_cache *cache)
{
    if (hew_home.cache == cache) {
        hew_home.where = cache->where;
    }
}

bool
hew_own_choose(struct hew_cache *cache, bool own)
{
    if (!cache->caching) {
        cache->where = hew_slot_alone(&hew_slot_none);
    } else if (cache->own != NULL) {
        cache->where = hew_slot_alone(cache->own);
    } else {
        cache->where = hew_slot_shared();
        if ((own || cache->where.base == (char *)&hew_slot_none) && !hew_own_make(cache)) {
            return false;
        }
    }
    settle_home(cache);
    return true;
}

void
hew_own_set_caching(struct hew_cache *cache, bool caching)
{
    if (cache->own != NULL) {
        hew_slot_empty(cache->own);
        memcpy(((struct own_slot *)cache->own)->most, hew_budget_defaults(), sizeof(uint16_t) * HEW_CODES);
    }
    cache->caching = caching;
    hew_own_choose(cache, false);
}

/* The class is empty afterwards, and may hold so many. */
static void
set_most(struct hew_cache *cache, unsigned code, size_t objects)
{
    ((struct own_slot *)cache->own)->most[code] = (uint16_t)objects;
}

bool
hew_own_set_count(struct hew_cache *cache, unsigned code, unsigned objects)
{
    if (cache->own == NULL && !hew_own_choose(cache, true)) {
        return false;
    }
    hew_slot_empty(cache->own);
    objects = objects > HEW_BUDGET_OBJECTS_MAX ? HEW_BUDGET_OBJECTS_MAX : objects;
    set_most(cache, code, HEW_SLOT_CHOSEN | objects);
    return true;
}

bool
hew_own_set_sizes(struct hew_cache *cache, size_t largest)
{
    if (cache->own == NULL && !hew_own_choose(cache, true)) {
        return false;
    }
    hew_slot_empty(cache->own);
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        if (hew_code_size(code) > largest) {
            set_most(cache, code, 0);
        } else if (hew_budget_most(cache->own, code) == 0 && !hew_budget_is_chosen(cache->own, code)) {
            set_most(cache, code, hew_budget_usual(code));
        }
    }
    return true;
}

void
hew_own_release(struct hew_cache *cache)
{
    if (cache->own != NULL) {
        hew_meta_give(cache->own, sizeof(struct own_slot));
    }
    hew_meta_give(cache, sizeof *cache);
}

/* SPDX-License-Identifier: MIT */
/*
 * limit: settings do not change, so each class's limit is computed once, not for each thread.
 */
#include "cache/limit.h"

#include "base/options.h"
#include "cache/magazine.h"

#define CLASS_BYTES ((size_t)256 << 10) /* a small class's magazine holds at most this much */
#define LARGE_BYTES ((size_t)1 << 20)   /* a large class's, or one object */
#define OBJECTS_MAX 1023
#define CHOSEN (UINT32_C(1) << 31)

static _Atomic uint32_t defaults[HEW_CODES]; /* a limit, with CHOSEN */
static _Atomic bool known;

/* Whether one of the settings that jemalloc computes slots from has another value than jemalloc's. */
static bool
slots_chosen(void)
{
    return hew_options.tcache_nslots_small_min != 20 || hew_options.tcache_nslots_small_max != 200 ||
           hew_options.tcache_nslots_large != 20 || hew_options.lg_tcache_nslots_mul != 1;
}

/* jemalloc's rule: the regions of a slab, times 2^lg_tcache_nslots_mul, within bounds. */
static size_t
slots_by_slab(unsigned code)
{
    if (code > HEW_CODE_SMALL_LAST) {
        return hew_options.tcache_nslots_large;
    }
    size_t regions = hew_slab_shapes[code].regions;
    ssize_t lg = hew_options.lg_tcache_nslots_mul;
    size_t slots = lg >= 0 ? regions << lg : regions >> -lg;
    size_t least = hew_options.tcache_nslots_small_min, most = hew_options.tcache_nslots_small_max;
    most = most < least ? least : most;
    return slots < least ? least : slots > most ? most : slots;
}

static size_t
objects_by_bytes(unsigned code)
{
    size_t objects = (code > HEW_CODE_SMALL_LAST ? LARGE_BYTES : CLASS_BYTES) / hew_code_size(code);
    return objects == 0 ? 1 : objects > OBJECTS_MAX ? OBJECTS_MAX : objects;
}

static void
limit_set(struct hew_cache *cache, unsigned code, size_t objects, bool chosen)
{
    cache->most[code] = (uint16_t)(objects > HEW_LIMIT_MAX ? HEW_LIMIT_MAX : objects);
    cache->flags[code] &= (uint8_t)~HEW_CLASS_CHOSEN;
    cache->flags[code] |= chosen ? HEW_CLASS_CHOSEN : 0;
}

/* A class's limit by the settings; CHOSEN when it is the user's. */
static uint32_t
by_settings(unsigned code)
{
    size_t size = hew_code_size(code);
    if (size > hew_options.tcache_max) {
        return 0;
    }
    const struct hew_option_ranges *ranges = &hew_options.tcache_ncached_max;
    for (unsigned i = ranges->count; i > 0; i--) { /* the last range that names a size wins */
        if (size >= ranges->at[i - 1].low && size <= ranges->at[i - 1].high) {
            return CHOSEN | (uint32_t)ranges->at[i - 1].value;
        }
    }
    return slots_chosen() ? CHOSEN | (uint32_t)slots_by_slab(code) : (uint32_t)objects_by_bytes(code);
}

/* Settings do not change, so the limits are computed once; by two threads at most, which find the same. */
static void
know_defaults(void)
{
    if (!atomic_load_explicit(&known, memory_order_acquire)) {
        for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
            atomic_store_explicit(&defaults[code], by_settings(code), memory_order_relaxed);
        }
        atomic_store_explicit(&known, true, memory_order_release); /* pairs with the acquire above */
    }
}

void
hew_limit_begin(struct hew_cache *cache)
{
    know_defaults();
    cache->custom = false;
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        uint32_t most = cache->caching ? atomic_load_explicit(&defaults[code], memory_order_relaxed) : 0;
        limit_set(cache, code, most & ~CHOSEN, (most & CHOSEN) != 0);
    }
}

void
hew_limit_choose(struct hew_cache *cache, unsigned code, unsigned objects)
{
    hew_magazine_drop(cache, code);
    limit_set(cache, code, objects, true);
    cache->custom = true;
}

void
hew_limit_sizes(struct hew_cache *cache, size_t largest)
{
    cache->custom = true;
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        bool wanted = hew_code_size(code) <= largest;
        if (!wanted) {
            hew_magazine_drop(cache, code);
            limit_set(cache, code, 0, false);
        } else if (cache->most[code] == 0 && (cache->flags[code] & HEW_CLASS_CHOSEN) == 0) {
            limit_set(cache, code, objects_by_bytes(code), false);
        }
    }
}

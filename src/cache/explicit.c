/* SPDX-License-Identifier: MIT */
/*
 * explicit: a cache as threads have it, in a table instead of thread data.  The table is an array of atomics, so that
 * finding one by its number needs no lock and a number that was never given out finds nothing.
 */
#include "cache/explicit.h"

#include "cache/budget.h"
#include "cache/magazine.h"
#include "cache/thread.h"
#include "meta/memory.h"

static _Atomic(struct hew_cache *) table[HEW_EXPLICIT_MAX];

struct hew_cache *
hew_explicit_at(unsigned number)
{
    return number >= HEW_EXPLICIT_MAX ? NULL : atomic_load_explicit(&table[number], memory_order_acquire);
}

/* The lowest free number becomes that of `cache`. */
static bool
explicit_enter(struct hew_cache *cache, unsigned *number)
{
    for (unsigned slot = 0; slot < HEW_EXPLICIT_MAX; slot++) {
        struct hew_cache *none = NULL;
        if (atomic_compare_exchange_strong(&table[slot], &none, cache)) {
            *number = slot;
            return true;
        }
    }
    return false;
}

/* The arena whose requests the cache counts: the thread's own, unless the program may destroy that before the cache. */
static struct hew_arena *
home_arena(void)
{
    struct hew_cache *own = hew_cache_self;
    struct hew_arena *arena = hew_cache_is_real(own) ? own->real->arena : hew_arena_get(0);
    return arena == NULL || arena->index < hew_arena_limit() ? arena : hew_arena_get(0);
}

bool
hew_explicit_create(unsigned *number)
{
    struct hew_arena *arena = home_arena();
    struct hew_cache *cache = arena == NULL ? NULL : hew_meta_take(sizeof *cache);
    if (cache == NULL) {
        return false;
    }
    hew_magazine_begin(cache);
    cache->real = cache;
    cache->arena = arena;
    cache->caching = true;
    cache->direct = true;
    hew_budget_begin(cache);
    hew_thread_enlist(cache);
    if (!explicit_enter(cache, number)) {
        hew_thread_retire(cache);
        hew_meta_give(cache, sizeof *cache);
        return false;
    }
    return true;
}

bool
hew_explicit_flush(unsigned number)
{
    struct hew_cache *cache = hew_explicit_at(number);
    if (cache != NULL) {
        hew_magazine_drop_all(cache);
    }
    return cache != NULL;
}

bool
hew_explicit_destroy(unsigned number)
{
    struct hew_cache *cache =
        number >= HEW_EXPLICIT_MAX ? NULL : atomic_exchange_explicit(&table[number], NULL, memory_order_acq_rel);
    if (cache != NULL) {
        hew_thread_retire(cache);
        hew_meta_give(cache, sizeof *cache);
    }
    return cache != NULL;
}

void
hew_explicit_after_fork(void)
{
    for (unsigned number = 0; number < HEW_EXPLICIT_MAX; number++) {
        struct hew_cache *cache = hew_explicit_at(number);
        if (cache != NULL) {
            hew_thread_enlist(cache);
        }
    }
}

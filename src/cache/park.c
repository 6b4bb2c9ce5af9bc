/* SPDX-License-Identifier: MIT */
#include "cache/park.h"

#include "base/options.h"
#include "cache/magazine.h"
#include "cache/thread.h"
#include "meta/memory.h"

#define CACHES_PER_ARENA 2

/* Guarded by hew_caches_lock. */
static struct hew_list parked = {&parked, &parked};
static unsigned count;
static _Atomic bool some; /* count != 0: relaxed, a hint */

/* What a thread has chosen for itself stays with it.  Objects of arenas that a program made must not outlive them here. */
bool
hew_park_suits(const struct hew_cache *cache)
{
    return cache->caching && !cache->custom && cache->live == NULL && cache->granted <= HEW_PARK_BYTES && !hew_options.prof &&
        atomic_load_explicit(&hew_cache_step, memory_order_relaxed) == 0 &&
        !atomic_load_explicit(&hew_arena_was_created, memory_order_relaxed);
}

bool
hew_park_has_room(void)
{
    return count < CACHES_PER_ARENA * hew_arena_limit();
}

void
hew_park_put(struct hew_cache *cache)
{
    hew_list_push_front(&parked, &cache->link);
    count++;
    atomic_store_explicit(&some, true, memory_order_relaxed);
}

/* Under the lock. */
static struct hew_cache *
take(const struct hew_arena *arena)
{
    for (struct hew_list *node = parked.next; node != &parked; node = node->next) {
        struct hew_cache *cache = HEW_CONTAINER(node, struct hew_cache, link);
        if (arena == NULL || cache->arena == arena) {
            hew_list_remove(node);
            count--;
            atomic_store_explicit(&some, count != 0, memory_order_relaxed);
            return cache;
        }
    }
    return NULL;
}

/* The thread begins at nothing: what is here came in from outside. */
static void
forget_counts(struct hew_cache *cache)
{
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        cache->counted[code] = cache->ticks[code];
        cache->handed_over[code] = 0;
        cache->balance[code] = -(uint64_t)hew_cache_depth(cache, code);
    }
    cache->other_allocated = cache->other_freed = cache->reported = 0;
    cache->due = 0;
}

struct hew_cache *
hew_park_take(const struct hew_arena *arena)
{
    if (!atomic_load_explicit(&some, memory_order_relaxed)) {
        return NULL;
    }
    hew_mutex_lock(&hew_caches_lock);
    struct hew_cache *cache = take(arena);
    hew_mutex_unlock(&hew_caches_lock);
    if (cache != NULL && !hew_park_suits(cache)) { /* not any more */
        hew_magazine_drop_all(cache);
        hew_meta_give(cache, sizeof *cache);
        return NULL;
    }
    if (cache != NULL) {
        forget_counts(cache);
    }
    return cache;
}

void
hew_park_empty(void)
{
    struct hew_cache *cache = NULL;
    while (atomic_load_explicit(&some, memory_order_relaxed)) {
        hew_mutex_lock(&hew_caches_lock);
        cache = take(NULL);
        hew_mutex_unlock(&hew_caches_lock);
        if (cache != NULL) {
            hew_magazine_drop_all(cache);
            hew_meta_give(cache, sizeof *cache);
        }
    }
}

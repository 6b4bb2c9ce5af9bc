/* SPDX-License-Identifier: MIT */
#include "cache/thread.h"

#include "cache/magazine.h"
#include "meta/memory.h"

static void *nothing[2]; /* as a magazine: empty */

#define NO_MAGAZINES {.top = {[0 ... HEW_CODES - 1] = &nothing[1]}}

struct hew_cache hew_cache_none = NO_MAGAZINES;
struct hew_cache hew_cache_gone = NO_MAGAZINES;
__thread struct hew_cache *hew_cache_self = &hew_cache_none;

struct hew_mutex hew_caches_lock;
static struct hew_list caches = {&caches, &caches}; /* guarded by hew_caches_lock */
_Atomic unsigned hew_caches_alive;

struct hew_cache *
hew_thread_birth(void)
{
    struct hew_arena *arena = hew_arena_least_loaded();
    struct hew_cache *cache = arena == NULL ? NULL : hew_meta_take(sizeof *cache);
    if (cache == NULL) {
        return NULL;
    }
    hew_magazine_begin(cache);
    cache->arena = arena;
    atomic_fetch_add_explicit(&arena->threads, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&hew_caches_alive, 1, memory_order_relaxed);
    hew_mutex_lock(&hew_caches_lock);
    hew_list_push_back(&caches, &cache->link);
    hew_mutex_unlock(&hew_caches_lock);
    hew_cache_self = cache;
    return cache;
}

void
hew_thread_death(void)
{
    struct hew_cache *cache = hew_cache_self;
    hew_cache_self = &hew_cache_gone;
    if (!hew_cache_is_real(cache)) {
        return;
    }
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        hew_magazine_drop(cache, code);
    }
    hew_mutex_lock(&hew_caches_lock);
    hew_list_remove(&cache->link);
    hew_mutex_unlock(&hew_caches_lock);
    atomic_fetch_sub_explicit(&cache->arena->threads, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&hew_caches_alive, 1, memory_order_relaxed);
    hew_meta_give(cache, sizeof *cache);
}

void
hew_thread_after_fork(void)
{
    /* What the other threads had cached is lost to the child: bounded by the budget, and shared with the parent until
     * written.  They may have been in the middle of a slow path, so their magazines cannot be trusted. */
    struct hew_cache *own = hew_cache_self;
    for (unsigned index = 0; index < HEW_ARENAS_MAX && hew_arena_at(index) != NULL; index++) {
        atomic_store_explicit(&hew_arena_at(index)->threads, 0, memory_order_relaxed);
    }
    hew_list_begin(&caches);
    atomic_store_explicit(&hew_caches_alive, 0, memory_order_relaxed);
    if (hew_cache_is_real(own)) {
        hew_list_push_back(&caches, &own->link);
        atomic_store_explicit(&own->arena->threads, 1, memory_order_relaxed);
        atomic_store_explicit(&hew_caches_alive, 1, memory_order_relaxed);
    }
}

size_t
hew_thread_cached_bytes(void)
{
    size_t bytes = 0;
    hew_mutex_lock(&hew_caches_lock);
    for (struct hew_list *node = caches.next; node != &caches; node = node->next) {
        const struct hew_cache *cache = HEW_CONTAINER(node, struct hew_cache, link);
        for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
            void **base = __atomic_load_n(&cache->base[code], __ATOMIC_RELAXED);
            void **top = __atomic_load_n(&cache->top[code], __ATOMIC_RELAXED);
            if (base != NULL && top > base && (size_t)(top - base) <= 1024) {
                bytes += (size_t)(top - base - 1) * hew_code_size(code);
            }
        }
    }
    hew_mutex_unlock(&hew_caches_lock);
    return bytes;
}

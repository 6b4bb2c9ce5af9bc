/* SPDX-License-Identifier: MIT */
/* thread: making a cache and taking it apart; which slot a thread uses. */
#include "cache/thread.h"

#include "base/options.h"
#include "cache/count.h"
#include "cache/magazine.h"
#include "cache/own.h"
#include "meta/memory.h"
#include "os/entry.h"
#include "page/hooks.h"
#include "slab/arena_life.h"

static __thread struct hew_home outside; /* of the hook of an arena that the thread is in */

static __thread struct {
    unsigned depth;
    struct hew_home home;
} set_aside;

static const uint16_t no_limits[HEW_CODES];

static struct hew_list caches = {&caches, &caches}; /* guarded by hew_caches_lock */

/* The calling thread has a cache that serves nothing. */
static void
go_without(struct hew_cache *cache)
{
    hew_home = (struct hew_home){cache, hew_slot_alone(&hew_slot_none)};
}

void
hew_thread_boot(void)
{
    hew_slot_none.most = no_limits;
}

/* A hook may run in the middle of a fill or a flush: what it allocates and frees goes past them. */
static void
guard_hook(bool inside)
{
    if (inside) {
        outside = hew_home;
        go_without(&hew_cache_gone);
    } else {
        hew_home = outside;
    }
}

void
hew_thread_set_aside(void)
{
    if (set_aside.depth++ == 0) {
        set_aside.home = hew_home;
        go_without(&hew_cache_gone);
    }
}

void
hew_thread_take_up(void)
{
    if (--set_aside.depth == 0) {
        hew_home = set_aside.home;
    }
}

/* Whose the cache is, where somebody may ask for it. */
static void
put_number(struct hew_cache *cache)
{
    if (HEW_UNLIKELY(hew_options.control[0] != '\0')) {
        cache->thread = hew_entry_thread();
    }
}

static HEW_NOINLINE struct hew_cache *
new_cache(bool caching)
{
    struct hew_cache *cache = hew_meta_take(sizeof *cache);
    if (cache != NULL) {
        hew_magazine_begin(cache);
        cache->caching = caching;
        if (!hew_own_choose(cache, false)) {
            hew_meta_give(cache, sizeof *cache);
            return NULL;
        }
    }
    return cache;
}

struct hew_cache *
hew_thread_birth(bool caching)
{
    struct hew_arena *arena = hew_arena_join_least_loaded();
    if (arena == NULL) {
        return NULL;
    }
    struct hew_cache *cache = new_cache(caching);
    if (cache == NULL) {
        hew_arena_leave(arena);
        return NULL;
    }
    atomic_store_explicit(&hew_hooks_guard, guard_hook, memory_order_relaxed);
    cache->real = cache;
    cache->arena = arena;
    put_number(cache);
    atomic_fetch_add_explicit(&hew_caches_alive, 1, memory_order_relaxed);
    hew_thread_enlist(cache);
    hew_home = (struct hew_home){cache, cache->where};
    return cache;
}

void
hew_thread_enlist(struct hew_cache *cache)
{
    hew_mutex_lock(&hew_caches_lock);
    hew_list_push_back(&caches, &cache->link);
    hew_mutex_unlock(&hew_caches_lock);
}

/* What the cache has counted becomes the arena's; of the thread it is bytes.  Under hew_caches_lock, so that nobody counts it twice or
 * not at all. */
static void
hand_counts_over(struct hew_cache *cache)
{
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        uint64_t requests = hew_cache_requests(cache, code);
        if (requests != 0) {
            atomic_fetch_add_explicit(&cache->arena->requests[code], requests, memory_order_relaxed);
            hew_count_forget(cache, code);
        }
    }
}

/* Under the lock: the cache leaves the list; what it counted is its arena's. */
static void
thread_settle(struct hew_cache *cache)
{
    hew_list_remove(&cache->link);
    hand_counts_over(cache);
}

void
hew_thread_retire(struct hew_cache *cache)
{
    if (cache->own != NULL) {
        hew_slot_empty(cache->own);
    }
    hew_mutex_lock(&hew_caches_lock);
    thread_settle(cache);
    hew_mutex_unlock(&hew_caches_lock);
}

/* One thread less allocates from `arena`. */
static void
discount(struct hew_arena *arena)
{
    atomic_fetch_sub_explicit(&arena->threads, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&hew_caches_alive, 1, memory_order_relaxed);
}

void
hew_thread_death(void)
{
    struct hew_cache *cache = hew_cache_self, *front = cache;
    go_without(&hew_cache_gone);
    if (!hew_cache_is_real(cache)) {
        return;
    }
    cache = cache->real;
    hew_thread_retire(cache);
    discount(cache->arena);
    if (cache->live != NULL) {
        hew_meta_give(cache->live, sizeof *cache->live);
    }
    if (front != cache) {
        hew_meta_give(front, sizeof *front);
    }
    hew_own_release(cache);
}

bool
hew_thread_bind(struct hew_cache *cache, struct hew_arena *arena)
{
    if (cache->arena == arena) {
        return true;
    }
    if ((arena->manual && cache->own == NULL && !hew_own_make(cache)) || !hew_arena_join(arena)) {
        return false;
    }
    hew_page_share(arena->pages.heap);
    hew_mutex_lock(&hew_caches_lock);
    struct hew_arena *former = cache->arena;
    hand_counts_over(cache);
    cache->arena = arena;
    hew_mutex_unlock(&hew_caches_lock);
    if (former->manual) { /* which may be destroyed as soon as nobody is bound to it, with all that came from it */
        hew_magazine_send_all_home(cache);
    }
    hew_own_choose(cache, false);
    hew_arena_leave(former);
    return true;
}

void
hew_thread_follow_cpu(struct hew_cache *cache)
{
    struct hew_arena *arena = cache->arena->manual ? NULL : hew_arena_of_cpu();
    if (arena != NULL) {
        hew_thread_bind(cache, arena);
    }
}

bool
hew_thread_front(struct hew_cache *cache)
{
    if (hew_cache_self != cache) {
        return true;
    }
    /* A front without any magazine: the fast paths of this thread fail from here on. */
    struct hew_cache *front = hew_meta_take(sizeof *front);
    if (front == NULL) {
        return false;
    }
    hew_magazine_begin(front);
    front->real = cache;
    go_without(front);
    return true;
}

struct hew_cache_bytes *
hew_thread_counters(struct hew_cache *cache)
{
    if (cache->live != NULL) {
        return cache->live;
    }
    struct hew_cache_bytes *live = hew_meta_take(sizeof *live);
    if (live == NULL) {
        return NULL;
    }
    if (!hew_thread_front(cache)) {
        hew_meta_give(live, sizeof *live);
        return NULL;
    }
    live->allocated = hew_count_allocated(cache);
    live->freed = hew_count_freed(cache);
    cache->live = live;
    return live;
}

void
hew_thread_after_fork(void)
{
    /* What the other threads had cached is lost to the child: bounded by the budget, and shared with the parent until
     * written.  They may have been in the middle of a slow path, so their magazines cannot be trusted. */
    if (set_aside.depth != 0) { /* a child of vfork has forked */
        set_aside.depth = 0;
        hew_home = set_aside.home;
    }
    struct hew_cache *own = hew_hooks_depth != 0 ? outside.cache : hew_cache_self;
    HEW_EACH_ARENA(arena)
    {
        atomic_store_explicit(&arena->threads, 0, memory_order_relaxed);
    }
    hew_list_begin(&caches);
    atomic_store_explicit(&hew_caches_alive, 0, memory_order_relaxed);
    if (hew_cache_is_real(own)) {
        put_number(own->real);
        hew_list_push_back(&caches, &own->real->link);
        atomic_store_explicit(&own->real->arena->threads, 1, memory_order_relaxed);
        atomic_store_explicit(&hew_caches_alive, 1, memory_order_relaxed);
    }
}

void
hew_thread_each(void (*visit)(const struct hew_cache *cache, void *context), void *context)
{
    hew_mutex_lock(&hew_caches_lock);
    for (struct hew_list *node = caches.next; node != &caches; node = node->next) {
        visit(HEW_CONTAINER(node, struct hew_cache, link), context);
    }
    hew_mutex_unlock(&hew_caches_lock);
}

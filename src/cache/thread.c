/* SPDX-License-Identifier: MIT */
/*
 * thread: making a cache and taking it apart.  Programs start many short threads, so a few caches are
 * kept for the next ones (kept.c), and the end of one looks only at classes that were used.
 */
#include "cache/thread.h"

#include "base/options.h"
#include "cache/budget.h"
#include "cache/count.h"
#include "cache/kept.h"
#include "cache/magazine.h"
#include "meta/memory.h"
#include "os/entry.h"
#include "page/hooks.h"
#include "slab/arena_life.h"

static __thread struct hew_cache *set_aside; /* while the thread is inside a hook of an arena */

static void *nothing[2]; /* as a magazine: empty */

static struct hew_list caches = {&caches, &caches}; /* guarded by hew_caches_lock */

/* A cache without any magazine, for those threads that have no true one.  Several may set it up at once. */
static struct hew_cache *
thread_empty(struct hew_cache *cache)
{
    /* acquire: pairs with the release below */
    if (__atomic_load_n(&cache->top[0], __ATOMIC_ACQUIRE) == NULL) {
        for (unsigned code = HEW_CODES; code-- > 0;) { /* the first one last */
            __atomic_store_n(&cache->top[code], &nothing[1], __ATOMIC_RELEASE);
        }
    }
    return cache;
}

void
hew_thread_boot(void)
{
    thread_empty(&hew_cache_none);
}

/* A hook may run in the middle of a fill or a flush, when the magazines are half changed: what it allocates and frees goes
 * past them. */
static void
guard_hook(bool inside)
{
    if (inside) {
        set_aside = hew_cache_self;
        hew_cache_self = thread_empty(&hew_cache_gone);
    } else {
        hew_cache_self = set_aside;
    }
}

/* Notes which thread the cache belongs to, for the list of threads. */
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
        hew_budget_begin(cache);
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
    struct hew_cache *cache = caching ? hew_kept_take(arena) : NULL;
    cache = cache == NULL ? new_cache(caching) : cache;
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
    hew_cache_self = cache;
    return cache;
}

void
hew_thread_enlist(struct hew_cache *cache)
{
    hew_mutex_lock(&hew_caches_lock);
    hew_list_push_back(&caches, &cache->link);
    hew_mutex_unlock(&hew_caches_lock);
}

/* Adds the cache's counts to the arena's, and its bytes to the thread's.  Under hew_caches_lock, so that a reader counts them
 * exactly once. */
static void
hand_counts_over(struct hew_cache *cache)
{
    HEW_EACH_TOUCHED(cache, code)
    {
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
    hew_magazine_drop_all(cache);
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
    hew_cache_self = thread_empty(&hew_cache_gone);
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
    hew_meta_give(cache, sizeof *cache);
}

void
hew_thread_leave(void)
{
    struct hew_cache *cache = hew_cache_is_real(hew_cache_self) ? hew_cache_self->real : NULL;
    struct hew_arena *arena = cache == NULL ? NULL : cache->arena;
    bool kept = false;
    if (cache != NULL && hew_kept_suits(cache)) {
        hew_kept_trim(cache);
        hew_mutex_lock(&hew_caches_lock);
        kept = hew_kept_has_room();
        if (kept) {
            thread_settle(cache);
            hew_kept_put(cache);
        }
        hew_mutex_unlock(&hew_caches_lock);
    }
    if (!kept) {
        hew_thread_death();
        return;
    }
    hew_cache_self = thread_empty(&hew_cache_gone);
    discount(arena);
}

bool
hew_thread_bind(struct hew_cache *cache, struct hew_arena *arena)
{
    if (cache->arena == arena) {
        return true;
    }
    if (!hew_arena_join(arena)) {
        return false;
    }
    hew_page_share(arena->pages.heap);
    hew_mutex_lock(&hew_caches_lock);
    struct hew_arena *former = cache->arena;
    hand_counts_over(cache);
    cache->arena = arena;
    hew_mutex_unlock(&hew_caches_lock);
    if (former->manual) { /* the program may destroy it, with all its objects, when no thread is bound to it */
        hew_magazine_drop_all(cache);
    }
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

void
hew_thread_set_caching(struct hew_cache *cache, bool caching)
{
    hew_magazine_drop_all(cache);
    cache->caching = caching;
    hew_budget_begin(cache);
}

void
hew_thread_set_count(struct hew_cache *cache, unsigned code, unsigned objects)
{
    hew_magazine_drop(cache, code);
    hew_budget_limit(cache, code, objects, true);
    cache->custom = true;
}

void
hew_thread_set_sizes(struct hew_cache *cache, size_t largest)
{
    cache->custom = true;
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        if (hew_code_size(code) > largest) {
            hew_magazine_drop(cache, code);
            hew_budget_limit(cache, code, 0, false);
        } else if (cache->classes[code].most == 0 && (cache->classes[code].flags & HEW_CLASS_CHOSEN) == 0) {
            hew_budget_limit(cache, code, hew_budget_usual(code), false);
        }
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
    hew_cache_self = front;
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
    hew_cache_self->checked = NULL; /* that way counts nothing */
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
    struct hew_cache *own = hew_hooks_depth != 0 ? set_aside : hew_cache_self;
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

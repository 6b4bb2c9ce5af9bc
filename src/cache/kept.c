/* SPDX-License-Identifier: MIT */
/*
 * kept: a list of caches, the one that came last in front: what it holds is most likely still in the processor's
 * caches.
 */
#include "cache/kept.h"

#include "base/options.h"
#include "cache/budget.h"
#include "cache/magazine.h"
#include "cache/thread.h"
#include "meta/memory.h"
#include "slab/mark.h"

#define CACHES_PER_ARENA 2

static struct hew_list kept = {&kept, &kept}; /* guarded by hew_caches_lock */
static _Atomic unsigned count;                /* written under it; without it a hint: relaxed */

static unsigned
kept_now(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed);
}

/* What a thread has chosen for itself stays with it.  Objects of arenas that a program made must not outlive them here. */
bool
hew_kept_suits(const struct hew_cache *cache)
{
    return cache->caching && !cache->custom && cache->live == NULL && !hew_options.prof && !hew_marks_wanted() &&
           atomic_load_explicit(&hew_cache_step, memory_order_relaxed) == 0 &&
           !atomic_load_explicit(&hew_arena_was_created, memory_order_relaxed);
}

void
hew_kept_trim(struct hew_cache *cache)
{
    size_t held = 0;
    HEW_EACH_TOUCHED(cache, code)
    { /* the small ones first */
        size_t bytes = hew_budget_bytes(code, hew_cache_depth(cache, code));
        if (held + bytes > HEW_KEPT_BYTES) {
            hew_magazine_drop(cache, code);
        } else {
            held += bytes;
        }
    }
}

bool
hew_kept_has_room(void)
{
    return kept_now() < CACHES_PER_ARENA * hew_arena_limit();
}

void
hew_kept_put(struct hew_cache *cache)
{
    hew_list_push_front(&kept, &cache->link);
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
}

/* Takes the lock.  One of `arena`, or, NULL, of any; NULL: there is none. */
static struct hew_cache *
kept_take(const struct hew_arena *arena)
{
    struct hew_cache *found = NULL;
    hew_mutex_lock(&hew_caches_lock);
    for (struct hew_list *node = kept.next; found == NULL && node != &kept; node = node->next) {
        struct hew_cache *cache = HEW_CONTAINER(node, struct hew_cache, link);
        found = arena == NULL || cache->arena == arena ? cache : NULL;
    }
    if (found != NULL) {
        hew_list_remove(&found->link);
        atomic_fetch_sub_explicit(&count, 1, memory_order_relaxed);
    }
    hew_mutex_unlock(&hew_caches_lock);
    return found;
}

static void
kept_give_up(struct hew_cache *cache)
{
    hew_magazine_drop_all(cache);
    hew_meta_give(cache, sizeof *cache);
}

/* The thread begins at nothing: what is here came in from outside, and the arena has the counts of who left it here. */
static void
forget_counts(struct hew_cache *cache)
{
    HEW_EACH_TOUCHED(cache, code)
    {
        HEW_ASSERT(1, hew_cache_requests(cache, code) == 0);
        hew_cache_forget_frees(cache, code);
    }
    cache->other_allocated = cache->other_freed = cache->reported = 0;
    cache->due = 0;
}

struct hew_cache *
hew_kept_take(const struct hew_arena *arena)
{
    struct hew_cache *cache = kept_now() == 0 ? NULL : kept_take(arena);
    if (cache != NULL && !hew_kept_suits(cache)) { /* not any more */
        kept_give_up(cache);
        return NULL;
    }
    if (cache != NULL) {
        forget_counts(cache);
    }
    return cache;
}

void
hew_kept_empty(void)
{
    struct hew_cache *cache;
    while (kept_now() != 0 && (cache = kept_take(NULL)) != NULL) {
        kept_give_up(cache);
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * magazine: what happens at the end of the fast path: filling, making room, and looking after idle classes.
 *
 * Promises  an empty magazine is filled from the depot of the thread's CPU, or from the arena; a full one gives its oldest objects
 *           to that depot.  A magazine that is not used is given up, one that does not miss is halved.
 * Called    by the owning thread.
 * Not here  how much a magazine may hold: budget.h.  What lies behind: depot.h, owner.h.
 * Why       docs/design/thread-cache.md.
 */
#ifndef HEW_CACHE_MAGAZINE_H
#define HEW_CACHE_MAGAZINE_H

#include "cache/cache.h"

/* An object of class `code`, whether or not hew_cache_pop() was asked before; NULL without memory. */
void *hew_magazine_pop(struct hew_cache *cache, unsigned code);

/* Takes the object, which is no double free, or gives it back to its owner. */
void hew_magazine_push(struct hew_cache *cache, unsigned code, void *object);

/* The period of a class is over: counts it and returns what was not needed. */
void hew_magazine_tick(struct hew_cache *cache, unsigned code);

/* All objects go to the depot or their owners; the class has no magazine afterwards. */
void hew_magazine_drop(struct hew_cache *cache, unsigned code);

/* The same for every class. */
void hew_magazine_drop_all(struct hew_cache *cache);

/* The same past the depot: everything goes to its owners at once. */
void hew_magazine_send_all_home(struct hew_cache *cache);

/* All objects but the newest `keep` go there. */
void hew_magazine_flush(struct hew_cache *cache, unsigned code, size_t keep);

/* Links every class of a new cache to the shared empty slot. */
void hew_magazine_begin(struct hew_cache *cache);

/* The object of class `code` that was popped last comes back as if it had never left: another one serves the request. */
void hew_magazine_unpop(struct hew_cache *cache, unsigned code, void *object);

/* An object of class `code` that did not come from a magazine serves a request. */
HEW_INLINE void
hew_magazine_came_in(struct hew_cache *cache, unsigned code)
{
    cache->classes[code].balance--;
}

/* With hardening:full: an object that the program has freed waits outside the magazine.  It counts as freed. */
HEW_INLINE void
hew_magazine_set_apart(struct hew_cache *cache, unsigned code)
{
    hew_cache_touch(cache, code);
    cache->classes[code].balance++;
}

/* The class's next sample is due at that many allocations from now, at least 1. */
void hew_magazine_sample_after(struct hew_cache *cache, unsigned code, uint32_t allocations);

/* With hardening:sample: chooses for each class of a new cache which object, if any, of its first period is guarded. */
void hew_magazine_guard_begin(struct hew_cache *cache);

/* Raises HEW_DUE_BYTES when the thread has allocated hew_cache_step bytes since `reported`. */
void hew_magazine_watch(struct hew_cache *cache);

#endif

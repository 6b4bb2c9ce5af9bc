/* SPDX-License-Identifier: MIT */
/*
 * own: which slot a thread uses: none, that of its CPU, or one of its own, with limits of its own.
 *
 * Called    by the owning thread, with its true cache.
 * Why       docs/design/thread-cache.md.
 */
#ifndef HEW_CACHE_OWN_H
#define HEW_CACHE_OWN_H

#include "cache/cache.h"

/* Gives the cache a slot of its own, with the settings' limits.  False: no memory. */
bool hew_own_make(struct hew_cache *cache);

/* The thread uses the slot that suits it now: none, the CPUs', or, where they cannot be or with `own`, one of its own.  False: no
 * memory for that. */
bool hew_own_choose(struct hew_cache *cache, bool own);

/* Whether the thread keeps objects at hand; the settings' limits hold again. */
void hew_own_set_caching(struct hew_cache *cache, bool caching);

/* The user's choice for the calling thread's class: objects, at most HEW_BUDGET_OBJECTS_MAX.  The class starts anew.  False: no memory. */
bool hew_own_set_count(struct hew_cache *cache, unsigned code, unsigned objects);

/* The largest size that the thread caches: every class up to it is cached from now on, those above no more.  False: no memory. */
bool hew_own_set_sizes(struct hew_cache *cache, size_t largest);

/* Frees a cache that has been retired. */
void hew_own_release(struct hew_cache *cache);

#endif

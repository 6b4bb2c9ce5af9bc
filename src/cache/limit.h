/* SPDX-License-Identifier: MIT */
/*
 * limit: how many objects of a class a thread's cache may hold.
 *
 * By default a class is bound by bytes; where the user has set tcache_nslots_..., lg_tcache_nslots_mul or
 * tcache_ncached_max, by their counts.
 * Called    by the owning thread.
 */
#ifndef HEW_CACHE_LIMIT_H
#define HEW_CACHE_LIMIT_H

#include "cache/cache.h"

#define HEW_LIMIT_MAX 8191 /* objects of one class */

/* Every class gets the settings' limit; 0 when the cache is not to keep anything. */
void hew_limit_begin(struct hew_cache *cache);

/* The user's choice for the calling thread's class: objects, at most HEW_LIMIT_MAX.  The magazine starts anew. */
void hew_limit_choose(struct hew_cache *cache, unsigned code, unsigned objects);

/* The largest size that the thread caches: every class up to it is cached from now on, those above no more. */
void hew_limit_sizes(struct hew_cache *cache, size_t largest);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * kept: caches of threads that have ended, with the few objects they held, for threads that begin.
 *
 * A program that starts threads for small jobs pays for each of them with fills, flushes and magazines that grow; who
 * takes over a former thread's cache finds all that done.
 *
 * Promises  a few caches, with objects of at most HEW_KEPT_BYTES each; a thread that takes one over has allocated and freed nothing
 *           yet.  A reader of statistics ends them first, so that each object counts for a thread or for none.
 * Locks     hew_caches_lock (rank: caches).
 */
#ifndef HEW_CACHE_KEPT_H
#define HEW_CACHE_KEPT_H

#include "cache/cache.h"

#define HEW_KEPT_BYTES ((size_t)64 << 10)

/* Whether the true cache of a thread that ends may be another's. */
bool hew_kept_suits(const struct hew_cache *cache);

/* By its owner, before it is kept: a cache that holds more than HEW_KEPT_BYTES gives up its largest objects. */
void hew_kept_trim(struct hew_cache *cache);

/* Under hew_caches_lock: whether there is room for one more; and it goes in. */
bool hew_kept_has_room(void);
void hew_kept_put(struct hew_cache *cache);

/* A kept cache of `arena`, which is in no list yet; NULL: there is none. */
struct hew_cache *hew_kept_take(const struct hew_arena *arena);

/* What is kept goes to the depot or its owners. */
void hew_kept_empty(void);

#endif

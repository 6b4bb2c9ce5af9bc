/* SPDX-License-Identifier: MIT */
/*
 * again: large objects beyond what a magazine holds, one at a time, by way of the page heap's shelf.
 *
 * Promises  counts are as if the magazine had been asked; whatever is not the usual case is left to it.
 * Called    by the owning thread.
 * Why       a magazine of few objects gains nothing from fills and flushes, which cost more than the shelf does.
 */
#ifndef HEW_CACHE_AGAIN_H
#define HEW_CACHE_AGAIN_H

#include "cache/cache.h"

#define HEW_AGAIN_OBJECTS 4 /* magazines that may hold more are better off with several at once */

/* An object of large class `code`, or NULL: ask the magazine. */
void *hew_again_take(struct hew_cache *cache, unsigned code);

/* A full magazine's object.  False: the magazine has to make room. */
bool hew_again_give(struct hew_cache *cache, unsigned code, void *object);

#endif

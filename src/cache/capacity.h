/* SPDX-License-Identifier: MIT */
/*
 * capacity: how many objects a magazine may hold, and the array that they stand in.
 *
 * Promises  a thread's magazines together never hold more than its share of one budget for all threads, unless the user has
 *           set how much; a magazine grows only while it is both emptied and filled.
 * Called    by the owning thread.
 * Not here  what moves objects: magazine.c.
 */
#ifndef HEW_CACHE_CAPACITY_H
#define HEW_CACHE_CAPACITY_H

#include "cache/cache.h"

/* Links a class to the shared empty slot. */
void hew_capacity_close(struct hew_cache *cache, unsigned code);

/* Likewise one that has an empty magazine, whose array goes back. */
void hew_capacity_end(struct hew_cache *cache, unsigned code);

/* What one thread's magazines may hold, in bytes. */
size_t hew_capacity_share(void);

/* Whether the magazines may hold so many objects of a class more: the share has room, or the user has chosen the class's. */
bool hew_capacity_has_room(const struct hew_cache *cache, unsigned code, size_t objects);

/* The most objects that a magazine may hold that is only emptied, or only filled: a batch for the bin, larger where the heap
 * is.  Nothing where a single object is more than that: it would be memory that the thread has no use for. */
size_t hew_capacity_lean(const struct hew_cache *cache, unsigned code);

/* The capacity that a miss of that kind leads to: at most doubled, and half as much again where the share has no room for that; the
 * present one when it has reached its bounds. */
size_t hew_capacity_grown(const struct hew_cache *cache, unsigned code, unsigned miss);

/* Gives the magazine a new capacity; its objects stay in order and must fit.  False: no memory, nothing changed. */
bool hew_capacity_set(struct hew_cache *cache, unsigned code, size_t capacity);

/*
 * The loan: an eighth of the share is granted to nobody, and goes to the class that needs it at the moment.  Its magazine
 * stands in another array then, as long as it has a magazine.
 */

/* The capacity of a class that has the loan. */
size_t hew_capacity_with_loan(const struct hew_cache *cache, unsigned code);

/* The class, which has a magazine, gets the loan, which nobody has.  Without memory nothing happens. */
void hew_capacity_lend(struct hew_cache *cache, unsigned code, size_t capacity);

/* The class that has the loan is without it, and in its own array, where its objects must fit. */
void hew_capacity_call_in(struct hew_cache *cache);

/* Nobody has the loan: what it needs goes back. */
void hew_capacity_end_loan(struct hew_cache *cache);

/* The class among the next few that would miss the memory least, when `poor` should hold so many objects more: one that holds
 * twice as much and needs it less.  HEW_CODE_NONE: there is none. */
unsigned hew_capacity_richest(struct hew_cache *cache, unsigned poor, size_t more);

HEW_INLINE size_t
hew_capacity_of(const struct hew_cache *cache, unsigned code)
{
    return cache->base[code] == NULL ? 0 : (size_t)(cache->limit[code] - cache->base[code]) - 1;
}

/* Bytes of so many objects. */
HEW_INLINE size_t
hew_capacity_bytes(unsigned code, size_t objects)
{
    return objects * hew_slab_shapes[code].size;
}

/* How many whole objects so many bytes are. */
HEW_INLINE size_t
hew_capacity_objects(unsigned code, size_t bytes)
{
    return (size_t)((unsigned __int128)bytes * hew_slab_shapes[code].reciprocal >> 64);
}

#endif

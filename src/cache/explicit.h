/* SPDX-License-Identifier: MIT */
/*
 * explicit: caches that belong to no thread: the program makes one, names it by its number, and sees to it that one
 * thread at a time uses it.
 *
 * Owns      the table of numbers: a destroyed one's number is given out again, the lowest first.
 * Promises  any number may be asked for.  Making, finding and destroying are thread-safe; what a cache holds is not.
 *           The magazines work as a thread's do, each cache with a thread's share, but without a depot.
 * Locks     none: the table's entries are atomic, release when made, acquire when found.
 * Not here  the flag that names one: alloc/flags.h.
 */
#ifndef HEW_CACHE_EXPLICIT_H
#define HEW_CACHE_EXPLICIT_H

#include "cache/cache.h"

/* As many as a 12-bit field holds whose 0 means "the thread's own" and whose 1 means "none". */
#define HEW_EXPLICIT_MAX 4094

/* A new, empty cache that is filled from the calling thread's arena unless a call says otherwise.  False: no memory, or
 * HEW_EXPLICIT_MAX are there. */
bool hew_explicit_create(unsigned *number);

/* Everything in it goes back to its owners.  False: there is no such cache. */
bool hew_explicit_flush(unsigned number);
bool hew_explicit_destroy(unsigned number);

/* NULL: there is no such cache. */
struct hew_cache *hew_explicit_at(unsigned number);

/* In a fork's child, after hew_thread_after_fork(): they are the program's, and so still there. */
void hew_explicit_after_fork(void);

#endif

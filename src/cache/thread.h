/* SPDX-License-Identifier: MIT */
/*
 * thread: the birth and death of a thread's cache, and the list of all caches.
 *
 * Locks     hew_caches_lock (rank: caches) guards the list.
 * Not here  when a thread dies: api/boot.c owns the pthread key.
 */
#ifndef HEW_CACHE_THREAD_H
#define HEW_CACHE_THREAD_H

#include "cache/cache.h"

extern struct hew_mutex hew_caches_lock;

/* Gives the calling thread a cache on the least loaded arena.  NULL without memory: the thread stays as it was. */
struct hew_cache *hew_thread_birth(void);

/* Everything in the calling thread's cache goes back to its owners; the thread is left with hew_cache_gone. */
void hew_thread_death(void);

/* In a fork's child: the caches of the other threads, which do not exist here, leave the list. */
void hew_thread_after_fork(void);

/* Bytes in all magazines, as of about now. */
size_t hew_thread_cached_bytes(void);

#endif

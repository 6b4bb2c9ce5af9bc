/* SPDX-License-Identifier: MIT */
/*
 * thread: the birth and death of a thread's cache, its arena, and the list of all caches.
 *
 * Locks     hew_caches_lock (rank: caches) guards the list, and the hand-over of a cache's counts to its arena.
 * Called    with the calling thread's own true cache (hew_cache.real), where there is one.
 * Not here  when a thread dies: api/boot.c owns the pthread key.
 */
#ifndef HEW_CACHE_THREAD_H
#define HEW_CACHE_THREAD_H

#include "cache/cache.h"

/* Before the first allocation: what threads without a cache find. */
void hew_thread_boot(void);

/* Gives the calling thread a cache on the least loaded arena; without `caching` it keeps no objects.  NULL without memory:
 * the thread stays as it was. */
struct hew_cache *hew_thread_birth(bool caching);

/* The calling thread is left with hew_cache_gone; a slot of its own is emptied. */
void hew_thread_death(void);

/* From now on the thread allocates from `arena`.  What its cache holds stays where it is.  False: the arena is being
 * destroyed, or there is no memory. */
bool hew_thread_bind(struct hew_cache *cache, struct hew_arena *arena);

/* With the option percpu_arena: binds the thread to the arena of the CPU that it runs on, unless a program has bound it to
 * one that it made. */
void hew_thread_follow_cpu(struct hew_cache *cache);

/* The calling thread gets a front: each of its operations takes the slow path from here on.  False without memory. */
bool hew_thread_front(struct hew_cache *cache);

/*
 * From now on each operation of the calling thread is counted as it happens: the counters can be read at any time, by any
 * thread while this one lives.  Its operations take the slow path from here on.  NULL without memory.
 */
struct hew_cache_bytes *hew_thread_counters(struct hew_cache *cache);

/* A cache joins the list; and leaves it: what it holds goes to the depot, that of an explicit cache to its owners. */
void hew_thread_enlist(struct hew_cache *cache);
void hew_thread_retire(struct hew_cache *cache);

/* A child is about to run on the calling thread's memory and thread data (vfork): until the thread takes its cache up again, it and the
 * child allocate without one.  Calls nest. */
void hew_thread_set_aside(void);
void hew_thread_take_up(void);

/* In a fork's child: the caches of the other threads, which do not exist here, leave the list. */
void hew_thread_after_fork(void);

/* Shows every cache, under the lock. */
void hew_thread_each(void (*visit)(const struct hew_cache *cache, void *context), void *context);

#endif

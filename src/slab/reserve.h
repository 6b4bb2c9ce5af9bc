/* SPDX-License-Identifier: MIT */
/*
 * reserve: slabs that exist from the start and stay: the setting pools.
 *
 * Owns      the slabs of each declared class that no bin has; they count as the first arena's.
 * Promises  a bin of any automatic arena that needs a slab gets one from here while there is one, without a system
 *           call.  A slab of the reserve that is wholly free comes back, and never becomes free pages.
 * Locks     `hew_reserve_lock` (rank: reserve), under which no other lock is taken.
 * Why       one reserve for all arenas: if it were divided among them, a program with one thread would get only a part
 *           of what it declared.
 */
#ifndef HEW_SLAB_RESERVE_H
#define HEW_SLAB_RESERVE_H

#include "os/mutex.h"
#include "page/heap.h"

/* True if there is a reserve: written before the first thread. */
extern HEW_HIDDEN bool hew_reserve_used;
extern struct hew_mutex hew_reserve_lock;

/* Before the first thread: makes slabs for `count` more objects of class `code`, in the first arena's heap.  Returns
 * for how many objects there was memory. */
size_t hew_reserve_make(const struct hew_page_client *first, unsigned code, size_t count);

/* Takes a wholly free slab, which belongs to the heap from now on; NULL: there is none for that heap. */
struct hew_extent *hew_reserve_take(const struct hew_page_client *pages, unsigned code);

/* Returns a wholly free slab of the reserve, which no longer belongs to the heap. */
void hew_reserve_give(struct hew_page_heap *heap, struct hew_extent *slab);

#endif

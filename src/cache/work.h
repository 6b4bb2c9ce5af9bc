/* SPDX-License-Identifier: MIT */
/*
 * work: operations of all threads, counted while somebody listens.
 *
 * Promises  while nobody listens a thread reads one word at every sixteenth miss, and nothing is written.
 *           Each thread tells what it has done since it last told, or since it first heard that somebody listens: a thread
 *           without misses is not heard.  One relaxed sum.
 * Called    hew_work_listen() by one thread.
 */
#ifndef HEW_CACHE_WORK_H
#define HEW_CACHE_WORK_H

#include "cache/cache.h"

#include <stdatomic.h>

extern HEW_HIDDEN _Atomic uint32_t hew_work_heard; /* how often somebody has begun to listen; 0: nobody does */

void hew_work_listen(bool listens);
uint64_t hew_work_told(void);

/* Allocations and frees of the thread, in classes that are cached. */
uint64_t hew_work_of(const struct hew_cache *cache);

void hew_work_tell_some(struct hew_cache *cache);

HEW_INLINE void
hew_work_tell(struct hew_cache *cache)
{
    if (HEW_UNLIKELY(atomic_load_explicit(&hew_work_heard, memory_order_relaxed) != 0)) {
        hew_work_tell_some(cache);
    }
}

#endif

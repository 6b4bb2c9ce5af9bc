/* SPDX-License-Identifier: MIT */
/*
 * cache: what the files of this folder share: the calling thread's cache, and what is known of all of them.
 *
 * A thread begins with a cache that is empty and full at once, so that the fast paths need not ask whether there is one.
 */
#include "cache/cache.h"

struct hew_cache hew_cache_none, hew_cache_gone; /* not set up in the file: that would be two pages for each process */
struct hew_slot hew_slot_none;
__thread struct hew_home hew_home = {&hew_cache_none, {(char *)&hew_slot_none, hew_slot_none.area}};

struct hew_mutex hew_caches_lock = HEW_MUTEX(caches);
_Atomic unsigned hew_caches_alive;
_Atomic size_t hew_cache_step;
_Atomic uint32_t hew_cache_guard_interval, hew_cache_guard_turn;

void *
hew_cache_take(size_t code)
{
    return hew_cache_pop(code);
}

bool
hew_cache_put(size_t code, void *object)
{
    return hew_cache_push(code, object);
}

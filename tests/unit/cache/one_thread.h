/* SPDX-License-Identifier: MIT */
/* one_thread: what a thread does with its cache, for tests.  Each test works with a cache of its own, which owns its slot. */
#ifndef HEW_TESTS_ONE_THREAD_H
#define HEW_TESTS_ONE_THREAD_H

#include "cache/budget.h"
#include "cache/count.h"
#include "cache/depot.h"
#include "cache/magazine.h"
#include "cache/owner.h"
#include "cache/thread.h"
#include "layers.h"
#include "layers_cache.h"
#include "page/due.h"
#include "test.h"

#define OBJECTS_MAX 4096
#define CODE hew_code_of_size(64)

static void *objects[OBJECTS_MAX];

HEW_INLINE struct hew_cache *
new_cache(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = 1;
        atomic_fetch_add(&hew_page_mapped, (size_t)32 << 20); /* a heap of which a share is worth half a megabyte */
    }
    struct hew_cache *cache = hew_thread_birth(true);
    CHECK(cache != NULL && cache == hew_cache_self);
    return cache;
}

HEW_INLINE void
end_cache(void)
{
    hew_thread_death();
    CHECK(layers_settled());
}

/* What malloc does. */
HEW_INLINE void *
take(struct hew_cache *cache, unsigned code)
{
    void *object = hew_cache_pop_from(cache, &cache->where, code);
    return object != NULL ? object : hew_magazine_pop(cache, code);
}

/* What free does. */
HEW_INLINE void
give(struct hew_cache *cache, unsigned code, void *object)
{
    if (!hew_cache_push_into(cache, &cache->where, code, object)) {
        hew_magazine_push(cache, code, object);
    }
}

HEW_INLINE void
take_many(struct hew_cache *cache, unsigned code, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        objects[i] = take(cache, code);
        CHECK(objects[i] != NULL);
    }
}

HEW_INLINE void
give_many(struct hew_cache *cache, unsigned code, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        give(cache, code, objects[i]);
    }
}

HEW_INLINE void
work(struct hew_cache *cache, unsigned code, unsigned rounds, unsigned burst)
{
    for (unsigned round = 0; round < rounds; round++) {
        take_many(cache, code, burst);
        give_many(cache, code, burst);
    }
}

/* What a class holds when it is full. */
HEW_INLINE size_t
capacity(const struct hew_cache *cache, unsigned code)
{
    return cache->own->classes[code].capacity;
}

HEW_INLINE size_t
depth(const struct hew_cache *cache, unsigned code)
{
    return hew_slot_depth(cache->own, code);
}

/* The class is empty afterwards, and may hold as much as before. */
HEW_INLINE void
clear(struct hew_cache *cache, unsigned code)
{
    for (void *object; (object = hew_slot_pop(&cache->where, code)) != NULL;) {
        hew_owner_give(code, &object, 1);
    }
}

HEW_INLINE size_t
full_bytes(const struct hew_cache *cache)
{
    size_t bytes = 0;
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        bytes += capacity(cache, code) * hew_code_size(code);
    }
    return bytes;
}

#endif

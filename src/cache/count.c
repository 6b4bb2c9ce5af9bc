/* SPDX-License-Identifier: MIT */
/*
 * count: the sums behind count.h.  Who reads another thread's cache may find it between two of its stores: requests
 * are read again until they fit, and a depth that cannot be is told as 0.
 */
#include "cache/count.h"

#include "cache/magazine.h"

#define LOOK_BYTES ((size_t)64 << 10)

HEW_UNCHECKED_THREADS uint64_t
hew_count_requests(const struct hew_cache *cache, unsigned code)
{
    uint64_t before, after;
    uint32_t ticks;
    unsigned looks = 0;
    do {
        /* acquire: pairs with the releases of begin_period() */
        before = __atomic_load_n(&cache->classes[code].counted, __ATOMIC_ACQUIRE);
        ticks = __atomic_load_n(&cache->ticks[code], __ATOMIC_ACQUIRE);
        after = __atomic_load_n(&cache->classes[code].counted, __ATOMIC_ACQUIRE);
    } while ((ticks == 0 || before != after) && ++looks < 1000);
    return after - ticks;
}

HEW_UNCHECKED_THREADS size_t
hew_count_depth(const struct hew_cache *cache, unsigned code)
{
    void **base = __atomic_load_n(&cache->classes[code].base, __ATOMIC_RELAXED);
    void **top = __atomic_load_n(&cache->top[code], __ATOMIC_RELAXED);
    /* A magazine that is being exchanged shows two halves that do not belong together. */
    bool whole = base != NULL && top > base && (size_t)(top - base) <= (size_t)cache->classes[code].most + 1;
    return whole ? (size_t)(top - base) - 1 : 0;
}

HEW_UNCHECKED_THREADS size_t
hew_count_held(const struct hew_cache *cache, unsigned code)
{
    return hew_count_depth(cache, code) * hew_code_size(code);
}

uint64_t
hew_count_allocated(const struct hew_cache *cache)
{
    uint64_t bytes = cache->other_allocated;
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        bytes += hew_cache_requests(cache, code) * hew_slab_shapes[code].size;
    }
    return bytes;
}

uint64_t
hew_count_freed(const struct hew_cache *cache)
{
    uint64_t bytes = cache->other_freed;
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        bytes += hew_cache_frees(cache, code) * hew_slab_shapes[code].size;
    }
    return bytes;
}

void
hew_count_forget(struct hew_cache *cache, unsigned code)
{
    uint64_t requests = hew_cache_requests(cache, code), frees = hew_cache_frees(cache, code);
    cache->classes[code].counted -= requests;
    hew_cache_forget_frees(cache, code);
    cache->other_allocated += requests * hew_slab_shapes[code].size;
    cache->other_freed += frees * hew_slab_shapes[code].size;
}

void
hew_count_watch(size_t bytes)
{
    size_t now = atomic_load_explicit(&hew_cache_step, memory_order_relaxed);
    bytes = bytes == 0 ? 1 : bytes;
    while ((now == 0 || now > bytes) && !atomic_compare_exchange_weak(&hew_cache_step, &now, bytes)) {
    }
}

uint64_t
hew_count_passed(struct hew_cache *cache)
{
    uint64_t passed = hew_count_allocated(cache) - cache->reported;
    cache->reported += passed;
    return passed;
}

/* The thread's peak, sampled each time that it has allocated some more bytes: costs nothing before the first query. */
static __thread struct {
    uint64_t base; /* what the thread held when it began, wrapped if it had freed more than it had allocated */
    int64_t most;
    bool begun;
} peak;

static uint64_t
peak_held(const struct hew_cache *cache)
{
    return hew_count_allocated(cache) - hew_count_freed(cache);
}

static void
peak_begin(uint64_t base)
{
    hew_count_watch(LOOK_BYTES);
    peak.base = base;
    peak.most = 0;
    peak.begun = true;
}

void
hew_count_peak_begin(const struct hew_cache *cache)
{
    peak_begin(peak_held(cache));
}

void
hew_count_peak_look(const struct hew_cache *cache)
{
    if (peak.begun) {
        int64_t now = (int64_t)(peak_held(cache) - peak.base);
        peak.most = now > peak.most ? now : peak.most;
    }
}

uint64_t
hew_count_peak_read(const struct hew_cache *cache)
{
    if (!peak.begun) {
        peak_begin(0);
    }
    hew_count_peak_look(cache);
    return (uint64_t)peak.most;
}

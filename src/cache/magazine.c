/* SPDX-License-Identifier: MIT */
#include "cache/magazine.h"

#include "base/options.h"
#include "cache/count.h"
#include "cache/route.h"
#include "meta/memory.h"
#include "slab/large.h"

#include <string.h>

#define SLOTS_MIN 8                      /* with the NULL: one cache line */
/* Up to here a magazine grows without being used both ways: a part of the heap, within bounds. */
#define LEAN_MIN ((size_t)4 << 10)
#define LEAN_MAX ((size_t)32 << 10)
#define LEAN_PART 4096
#define LEAN_OBJECTS 64
#define FILL_BYTES ((size_t)16 << 10)    /* a fill brings at most this much */
/* What all threads' magazines may hold together: a sixteenth of the heap, within bounds.  A flat 8 MiB made programs of
 * 15 to 60 MB up to a third larger and at most a tenth faster. */
#define BUDGET_MIN ((size_t)2 << 20)
#define BUDGET_MAX ((size_t)8 << 20)
#define BUDGET_PART 16
/* A thread that works with few classes may hold more of each; once its magazines take up this part of its share, a small one
 * grows to so much at most. */
#define CROWDED_PART 8
#define CROWDED_BYTES ((size_t)64 << 10)
#define SHARE_MIN ((size_t)32 << 10)     /* a thread's share of the budget is never less */
#define SWEEP 4                          /* classes looked after at each tick */

static void *no_slot[2]; /* never written: the NULL below every missing magazine */

/* Allocations until a class is looked after again: before much has been allocated, where somebody waits for that. */
static uint32_t
usual_period(unsigned code)
{
    size_t step = atomic_load_explicit(&hew_cache_step, memory_order_relaxed), most = step / hew_code_size(code);
    return step == 0 || most >= HEW_CACHE_PERIOD ? HEW_CACHE_PERIOD : most == 0 ? 1 : (uint32_t)most;
}

/* Links a class to the shared empty slot. */
static void
close_class(struct hew_cache *cache, unsigned code)
{
    cache->top[code] = &no_slot[1];
    cache->limit[code] = NULL;
    cache->base[code] = NULL;
}

void
hew_magazine_begin(struct hew_cache *cache)
{
    memset(cache->touched, 0, sizeof cache->touched);
    for (unsigned code = 0; code < HEW_CODES; code++) {
        close_class(cache, code);
        cache->ticks[code] = usual_period(code == 0 ? 1 : code);
        cache->counted[code] = cache->ticks[code];
    }
}

static void
touch(struct hew_cache *cache, unsigned code)
{
    cache->touched[code / 64] |= (uint64_t)1 << code % 64;
}

static size_t
capacity_of(const struct hew_cache *cache, unsigned code)
{
    return cache->base[code] == NULL ? 0 : (size_t)(cache->limit[code] - cache->base[code]) - 1;
}

/* A magazine's array is the smallest power of two that holds its capacity and the NULL. */
static size_t
slots_for(size_t capacity)
{
    size_t slots = (size_t)1 << hew_bits_ceil_log2(capacity + 1);
    return slots < SLOTS_MIN ? SLOTS_MIN : slots;
}


/* What a class begins with. */
static size_t
least_capacity(unsigned code)
{
    return code > HEW_CODE_SMALL_LAST ? 1 : SLOTS_MIN - 1;
}

/* What one thread's magazines may hold. */
static size_t
share_of_budget(void)
{
    unsigned threads = atomic_load_explicit(&hew_caches_alive, memory_order_relaxed);
    size_t budget = atomic_load_explicit(&hew_page_mapped, memory_order_relaxed) / BUDGET_PART;
    budget = budget < BUDGET_MIN ? BUDGET_MIN : budget > BUDGET_MAX ? BUDGET_MAX : budget;
    size_t share = budget / (threads == 0 ? 1 : threads);
    return share < SHARE_MIN ? SHARE_MIN : share;
}

/* The most objects that a magazine may hold that is only emptied, or only filled: a batch for the bin, larger where the heap
 * is.  Nothing where a single object is more than that: it would be memory that the thread has no use for. */
static size_t
capacity_lean(const struct hew_cache *cache, unsigned code)
{
    size_t bytes = atomic_load_explicit(&hew_page_mapped, memory_order_relaxed) / LEAN_PART;
    bytes = bytes < LEAN_MIN ? LEAN_MIN : bytes > LEAN_MAX ? LEAN_MAX : bytes;
    size_t most = cache->most[code], objects = bytes / hew_code_size(code);
    objects = objects > LEAN_OBJECTS - 1 ? LEAN_OBJECTS - 1 : objects;
    return objects < most ? objects : most;
}

static bool
grant(struct hew_cache *cache, unsigned code, size_t from, size_t to)
{
    size_t more = (to - from) * hew_code_size(code);
    if ((cache->flags[code] & HEW_CLASS_CHOSEN) == 0 && cache->granted + more > share_of_budget()) {
        return false;
    }
    cache->granted += more;
    return true;
}

/* Gives the magazine a new capacity; its objects stay in order and must fit.  False: no memory, nothing changed. */
static bool
resize(struct hew_cache *cache, unsigned code, size_t capacity)
{
    size_t depth = hew_cache_depth(cache, code), before = capacity_of(cache, code);
    void **slots = cache->base[code];
    if (slots == NULL || slots_for(before) != slots_for(capacity)) {
        slots = hew_meta_take(slots_for(capacity) * sizeof *slots);
        if (slots == NULL) {
            return false;
        }
        if (cache->base[code] != NULL) {
            memcpy(slots, cache->base[code], (depth + 1) * sizeof *slots);
            hew_meta_give(cache->base[code], slots_for(before) * sizeof *slots);
        }
    }
    cache->base[code] = slots;
    cache->top[code] = slots + 1 + depth;
    cache->limit[code] = slots + 1 + capacity;
    return true;
}

/* The most objects that a magazine used both ways may grow to. */
static size_t
capacity_most(const struct hew_cache *cache, unsigned code)
{
    size_t most = cache->most[code], crowded = CROWDED_BYTES / hew_code_size(code);
    bool room = code > HEW_CODE_SMALL_LAST || cache->granted <= share_of_budget() / CROWDED_PART;
    return room || (cache->flags[code] & HEW_CLASS_CHOSEN) != 0 || most < crowded ? most : crowded;
}

/* The capacity that a miss leads to, at most doubled; the present one when it has reached its bounds. */
static size_t
grown_capacity(const struct hew_cache *cache, unsigned code, unsigned miss)
{
    size_t now = capacity_of(cache, code), most = capacity_most(cache, code);
    unsigned both = HEW_CLASS_REFILLED | HEW_CLASS_OVERFLOWED, flags = cache->flags[code] | miss;
    if ((flags & both) != both && (flags & HEW_CLASS_CHOSEN) == 0) {
        most = capacity_lean(cache, code);
    }
    size_t next = now == 0 ? least_capacity(code) : now * 2 + 1;
    next = next > most ? most : next;
    return next > now ? next : now;
}

/* A miss: an empty magazine at malloc, or a full one at free.  Grows where that pays. */
static void
miss(struct hew_cache *cache, unsigned code, unsigned kind)
{
    touch(cache, code);
    size_t now = capacity_of(cache, code), next = grown_capacity(cache, code, kind);
    cache->flags[code] |= (uint8_t)(kind | HEW_CLASS_MISSED);
    if (next > now && grant(cache, code, now, next)) {
        if (!resize(cache, code, next)) {
            cache->granted -= (next - now) * hew_code_size(code);
        } else if ((cache->flags[code] & (HEW_CLASS_REFILLED | HEW_CLASS_OVERFLOWED)) == (HEW_CLASS_REFILLED | HEW_CLASS_OVERFLOWED)) {
            cache->flags[code] &= (uint8_t) ~(HEW_CLASS_REFILLED | HEW_CLASS_OVERFLOWED);
        }
    }
}

/* Half a magazine, to leave room for what is freed; a whole one, which is small, where nothing is. */
static size_t
fill_count(const struct hew_cache *cache, unsigned code)
{
    size_t capacity = capacity_of(cache, code), bound = FILL_BYTES / hew_code_size(code);
    bool one_way = (cache->flags[code] & HEW_CLASS_OVERFLOWED) == 0 && capacity <= capacity_lean(cache, code);
    size_t count = one_way ? capacity : (capacity + 1) / 2;
    count = count < bound || code > HEW_CODE_SMALL_LAST ? count : bound; /* large ones that are at hand only */
    return count == 0 ? 1 : count;
}

/* New objects, the last of which should be used first. */
static unsigned
take(struct hew_cache *cache, unsigned code, void **objects, unsigned wanted)
{
    if (code > HEW_CODE_SMALL_LAST) {
        return hew_large_take_some(hew_arena_for_large(cache->arena, hew_code_size(code)), code, objects, wanted);
    }
    return hew_bin_take(&cache->arena->bins[code], &cache->arena->pages, code, objects, wanted);
}

/* Fills an empty magazine. */
static void
fill(struct hew_cache *cache, unsigned code)
{
    void **slots = cache->base[code] + 1;
    unsigned got = take(cache, code, slots, (unsigned)fill_count(cache, code));
    cache->top[code] = slots + got;
    cache->balance[code] -= got;
}

void *
hew_magazine_pop(struct hew_cache *cache, unsigned code)
{
    void *object = NULL;
    if (cache->top[code][-1] == NULL) {
        miss(cache, code, HEW_CLASS_REFILLED);
        if (cache->base[code] != NULL) {
            fill(cache, code);
        } else {
            cache->balance[code] -= take(cache, code, &object, 1);
        }
    }
    if (cache->top[code][-1] != NULL) {
        object = *--cache->top[code];
    }
    if (object == NULL) {
        return NULL;
    }
    /* 0: hew_cache_pop() has counted this one, and left the end of the period to us. */
    if (cache->ticks[code] == 0 || --cache->ticks[code] == 0) {
        hew_magazine_tick(cache, code);
    }
    return object;
}

/* Objects of this cache go back to their owners. */
static void
give(struct hew_cache *cache, unsigned code, void **objects, unsigned count)
{
    cache->balance[code] += count;
    hew_route_give(code, objects, count);
}

/* How many objects of a full magazine stay: none when the thread has allocated nothing of the class since it was last
 * full, for it will hardly want them soon. */
static size_t
kept_at_overflow(struct hew_cache *cache, unsigned code, size_t capacity)
{
    uint16_t count = (uint16_t)hew_magazine_requests(cache, code);
    bool one_way = count == cache->seen[code] && (cache->flags[code] & HEW_CLASS_CHOSEN) == 0;
    unsigned part = code > HEW_CODE_SMALL_LAST ? hew_options.lg_tcache_flush_large_div
                                               : hew_options.lg_tcache_flush_small_div;
    cache->seen[code] = count;
    return one_way ? 0 : capacity - (capacity >> part) - (capacity >> part == 0);
}

void
hew_magazine_push(struct hew_cache *cache, unsigned code, void *object)
{
    if (cache->top[code] < cache->limit[code]) {
        *cache->top[code]++ = object;
        return;
    }
    if (cache->most[code] != 0) {
        miss(cache, code, HEW_CLASS_OVERFLOWED);
    }
    size_t capacity = capacity_of(cache, code);
    if (capacity == 0) {
        touch(cache, code);
        give(cache, code, &object, 1);
        return;
    }
    if (cache->top[code] == cache->limit[code]) {
        hew_magazine_flush(cache, code, kept_at_overflow(cache, code, capacity));
    }
    *cache->top[code]++ = object;
}

void
hew_magazine_unpop(struct hew_cache *cache, unsigned code, void *object)
{
    if (cache->base[code] == NULL || cache->top[code] == cache->limit[code]) {
        hew_route_give(code, &object, 1); /* the count of those that came in stands: the request has been served */
        return;
    }
    *cache->top[code]++ = object;
    hew_magazine_came_in(cache, code);
}

void
hew_magazine_flush(struct hew_cache *cache, unsigned code, size_t keep)
{
    size_t depth = hew_cache_depth(cache, code);
    if (depth <= keep) {
        return;
    }
    void **slots = cache->base[code] + 1;
    give(cache, code, slots, (unsigned)(depth - keep));
    memmove(slots, slots + depth - keep, keep * sizeof *slots);
    cache->top[code] = slots + keep;
}

void
hew_magazine_drop(struct hew_cache *cache, unsigned code)
{
    if (cache->base[code] == NULL) {
        return;
    }
    hew_magazine_flush(cache, code, 0);
    size_t capacity = capacity_of(cache, code);
    cache->granted -= capacity * hew_code_size(code);
    hew_meta_give(cache->base[code], slots_for(capacity) * sizeof(void *));
    close_class(cache, code);
}

void
hew_magazine_drop_all(struct hew_cache *cache)
{
    HEW_EACH_TOUCHED (cache, code) {
        hew_magazine_drop(cache, code);
    }
}

/* Looks after one class: an idle one loses its magazine; one that never ran dry loses half of what it did not need. */
static void
look_after(struct hew_cache *cache, unsigned code)
{
    if (cache->base[code] == NULL) {
        return;
    }
    uint16_t count = (uint16_t)hew_magazine_requests(cache, code);
    bool missed = (cache->flags[code] & HEW_CLASS_MISSED) != 0;
    size_t depth = hew_cache_depth(cache, code);
    size_t low = depth < cache->low[code] ? depth : cache->low[code];
    if (!missed && count == cache->seen[code]) {
        hew_magazine_drop(cache, code);
        depth = 0;
    } else if (!missed && low > 1) {
        hew_magazine_flush(cache, code, depth - low / 2);
        depth -= low / 2;
    }
    cache->flags[code] &= (uint8_t)~HEW_CLASS_MISSED;
    cache->seen[code] = count;
    cache->low[code] = (uint16_t)depth;
}

/* How many allocations the next period takes: to the next sample at most, and not past what is watched. */
static uint32_t
next_period(struct hew_cache *cache, unsigned code)
{
    uint32_t period = usual_period(code);
    if (hew_options.prof) {
        if (cache->unsampled[code] == 0) {
            cache->due |= HEW_DUE_SAMPLE;
            cache->due_code = (uint8_t)code;
            return period; /* the profiler will say */
        }
        period = cache->unsampled[code] < period ? cache->unsampled[code] : period;
        cache->unsampled[code] -= period;
    }
    return period;
}

/* Whoever reads the count from outside looks again while there are no ticks: see hew_count_requests(). */
static void
begin_period(struct hew_cache *cache, unsigned code, uint64_t counted, uint32_t ticks)
{
    __atomic_store_n(&cache->ticks[code], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&cache->counted[code], counted, __ATOMIC_RELEASE);
    __atomic_store_n(&cache->ticks[code], ticks, __ATOMIC_RELEASE);
}

void
hew_magazine_sample_after(struct hew_cache *cache, unsigned code, uint32_t allocations)
{
    uint32_t usual = usual_period(code), period = allocations < usual ? allocations : usual;
    uint64_t requests = hew_magazine_requests(cache, code);
    cache->unsampled[code] = allocations - period;
    begin_period(cache, code, requests + period, period);
}

void
hew_magazine_watch(struct hew_cache *cache)
{
    size_t step = atomic_load_explicit(&hew_cache_step, memory_order_relaxed);
    if (step != 0 && hew_count_allocated(cache) - cache->reported >= step) {
        cache->due |= HEW_DUE_BYTES;
    }
}

void
hew_magazine_tick(struct hew_cache *cache, unsigned code)
{
    uint32_t period = next_period(cache, code);
    begin_period(cache, code, cache->counted[code] + period, period);
    hew_magazine_watch(cache);
    for (unsigned looked = 0; looked < SWEEP; looked++) {
        cache->sweep = (uint8_t)((cache->sweep + 1) % HEW_CODES);
        look_after(cache, cache->sweep);
    }
}

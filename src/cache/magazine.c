/* SPDX-License-Identifier: MIT */
#include "cache/magazine.h"

#include "base/options.h"
#include "cache/again.h"
#include "cache/capacity.h"
#include "cache/count.h"
#include "cache/route.h"
#include "cache/valid.h"
#include "slab/large.h"

#include <string.h>

#define FILL_BYTES ((size_t)32 << 10) /* a fill brings at most this much, */
#define FILL_OBJECTS 4                /* or so many */
#define ASKS 8                        /* a magazine asks others for room at each such refusal */
#define SWEEP 4                       /* classes looked after at each tick */

/* Allocations until a class is looked after again: before much has been allocated, where somebody waits for that. */
static uint32_t
usual_period(unsigned code)
{
    size_t step = atomic_load_explicit(&hew_cache_step, memory_order_relaxed), most = step / hew_code_size(code);
    return step == 0 || most >= HEW_CACHE_PERIOD ? HEW_CACHE_PERIOD : most == 0 ? 1 : (uint32_t)most;
}

void
hew_magazine_begin(struct hew_cache *cache)
{
    memset(cache->touched, 0, sizeof cache->touched);
    for (unsigned code = 0; code < HEW_CODES; code++) {
        hew_capacity_close(cache, code);
        cache->ticks[code] = usual_period(code == 0 ? 1 : code);
        cache->counted[code] = cache->ticks[code];
    }
}

static void
touch(struct hew_cache *cache, unsigned code)
{
    cache->touched[code / 64] |= (uint64_t)1 << code % 64;
}

/* Another class gives up room for `more` objects of this one, if there is one that needs it less. */
static bool
take_from_others(struct hew_cache *cache, unsigned code, size_t more)
{
    unsigned rich = hew_capacity_richest(cache, code, more);
    if (rich == HEW_CODE_NONE) {
        return false;
    }
    size_t before = hew_capacity_of(cache, rich);
    size_t left = hew_capacity_objects(rich, hew_capacity_bytes(rich, before) - hew_capacity_bytes(code, more));
    hew_magazine_flush(cache, rich, left);
    if (!hew_capacity_set(cache, rich, left)) {
        return false;
    }
    cache->granted -= hew_capacity_bytes(rich, before - left);
    return true;
}

/*
 * Whether a class may ask for more.  Once the share is used up it grows only at the cost of another: a class that has no
 * magazine asks each time, since each of its objects would take the slow path, others from time to time.
 */
static bool
may_ask(struct hew_cache *cache, size_t now)
{
    return now == 0 || ++cache->refusals % ASKS == 0;
}

static bool
grant(struct hew_cache *cache, unsigned code, size_t more)
{
    size_t bytes = hew_capacity_bytes(code, more);
    if (!hew_capacity_has_room(cache, code, more) && !take_from_others(cache, code, more)) {
        return false;
    }
    cache->granted += bytes;
    return true;
}

/* A magazine of `now` objects grows where that pays. */
static bool
grow(struct hew_cache *cache, unsigned code, size_t now, unsigned kind)
{
    size_t next = hew_capacity_grown(cache, code, kind);
    if (next <= now || !grant(cache, code, next - now)) {
        return false;
    }
    if (!hew_capacity_set(cache, code, next)) {
        cache->granted -= hew_capacity_bytes(code, next - now);
        return false;
    }
    return true;
}

/* Whether the class is only emptied at the moment, or only filled: all that the last fill has brought is used and nothing was
 * freed since, or nothing was used since the magazine was full last. */
static bool
in_burst(const struct hew_cache *cache, unsigned code, unsigned kind)
{
    uint16_t count = (uint16_t)hew_magazine_requests(cache, code);
    return count == (kind == HEW_CLASS_REFILLED ? cache->spent[code] : cache->seen[code]);
}

/*
 * Nobody has the loan any more.  False: its class has moved since it was asked for last, and would only want it back.  Else it
 * keeps as many objects as there is room for without.
 */
static bool
call_in(struct hew_cache *cache)
{
    struct hew_cache_loan *loan = &cache->loan;
    if (loan->code != HEW_CODE_NONE) {
        void **top = cache->top[loan->code];
        if (top != loan->asked) {
            loan->asked = top;
            return false;
        }
        hew_magazine_flush(cache, loan->code, loan->capacity);
        hew_capacity_call_in(cache);
    }
    return true;
}

/* A magazine of `now` objects gets the loan, if that makes it twice as large. */
static void
borrow(struct hew_cache *cache, unsigned code, size_t now)
{
    size_t capacity = hew_capacity_with_loan(cache, code);
    if (now != 0 && capacity / 2 >= now && call_in(cache)) {
        hew_capacity_lend(cache, code, capacity);
    }
}

/* A miss: an empty magazine at malloc, or a full one at free.  What a class may not have for good it may have for a burst. */
static void
miss(struct hew_cache *cache, unsigned code, unsigned kind)
{
    const unsigned both = HEW_CLASS_REFILLED | HEW_CLASS_OVERFLOWED;
    touch(cache, code);
    unsigned flags = cache->flags[code] | kind | HEW_CLASS_MISSED;
    bool used_both_ways = (flags & both) == both;
    size_t now = hew_capacity_of(cache, code);
    bool small = code <= HEW_CODE_SMALL_LAST, room = hew_capacity_has_room(cache, code, now + 1);
    bool lent = cache->loan.code == code; /* what it has then is more than it would grow to */
    if (!lent && now < cache->most[code] && (room || may_ask(cache, now)) && grow(cache, code, now, kind)) {
        flags &= ~(used_both_ways ? both | HEW_CLASS_GROWN : HEW_CLASS_GROWN);
    } else if (!small && used_both_ways) {
        flags |= HEW_CLASS_GROWN;
    } else if (small && !lent && (used_both_ways || !room) && in_burst(cache, code, kind)) {
        borrow(cache, code, now);
    }
    cache->flags[code] = (uint8_t)flags;
}

/* Half a magazine, to leave room for what is freed; a whole one, which is small, where nothing is. */
static size_t
fill_count(const struct hew_cache *cache, unsigned code)
{
    size_t capacity = hew_capacity_of(cache, code), bound = FILL_BYTES / hew_slab_shapes[code].size;
    bool one_way = (cache->flags[code] & HEW_CLASS_OVERFLOWED) == 0 && capacity <= hew_capacity_lean(cache, code);
    bound = bound < FILL_OBJECTS ? FILL_OBJECTS : bound;
    bool all = one_way || in_burst(cache, code, HEW_CLASS_REFILLED);
    size_t count = all ? capacity : (capacity + 1) / 2;
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
    HEW_ASSERT(1, cache->top[code] <= cache->limit[code] && cache->base[code][0] == NULL);
    HEW_ASSERT(3, hew_cache_class_valid(cache, code));
    cache->balance[code] -= got;
    cache->spent[code] = (uint16_t)(hew_magazine_requests(cache, code) + got);
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
    HEW_ASSERT(1, count != 0 && code != HEW_CODE_NONE && code <= HEW_CODE_CACHED_LAST);
    cache->balance[code] += count;
    hew_route_give(code, objects, count);
}

/* How many objects of a full magazine stay: none when the thread has allocated nothing of the class since it was last
 * full, for it will hardly want them soon. */
static size_t
kept_at_overflow(struct hew_cache *cache, unsigned code, size_t capacity)
{
    bool one_way = in_burst(cache, code, HEW_CLASS_OVERFLOWED) && (cache->flags[code] & HEW_CLASS_CHOSEN) == 0;
    unsigned part =
        code > HEW_CODE_SMALL_LAST ? hew_options.lg_tcache_flush_large_div : hew_options.lg_tcache_flush_small_div;
    cache->seen[code] = (uint16_t)hew_magazine_requests(cache, code);
    return one_way ? 0 : capacity - (capacity >> part) - (capacity >> part == 0);
}

void
hew_magazine_push(struct hew_cache *cache, unsigned code, void *object)
{
    if (cache->top[code] < cache->limit[code]) {
        *cache->top[code]++ = object;
        return;
    }
    if (HEW_UNLIKELY((cache->flags[code] & HEW_CLASS_GROWN) != 0) && hew_again_give(cache, code, object)) {
        return;
    }
    if (cache->most[code] != 0) {
        miss(cache, code, HEW_CLASS_OVERFLOWED);
    }
    size_t capacity = hew_capacity_of(cache, code);
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
    HEW_ASSERT(3, hew_cache_class_valid(cache, code));
}

void
hew_magazine_drop(struct hew_cache *cache, unsigned code)
{
    if (cache->base[code] == NULL) {
        return;
    }
    hew_magazine_flush(cache, code, 0);
    if (cache->loan.code == code) {
        hew_capacity_call_in(cache);
    }
    cache->granted -= hew_capacity_bytes(code, hew_capacity_of(cache, code));
    hew_capacity_end(cache, code);
}

void
hew_magazine_drop_all(struct hew_cache *cache)
{
    HEW_EACH_TOUCHED(cache, code)
    {
        hew_magazine_drop(cache, code);
    }
    hew_capacity_end_loan(cache);
}

/* Looks after one class: an idle one loses its magazine; one that never ran dry loses half of what it did not need. */
static void
look_after(struct hew_cache *cache, unsigned code)
{
    if (cache->base[code] == NULL) {
        cache->flags[code] &= (uint8_t)~HEW_CLASS_GROWN; /* the share may have room by now */
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
    cache->flags[code] &= (uint8_t)~(HEW_CLASS_MISSED | HEW_CLASS_GROWN);
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

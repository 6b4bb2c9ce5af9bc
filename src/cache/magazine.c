/* SPDX-License-Identifier: MIT */
/*
 * magazine: the two directions of a miss, refill() and overflow(), stand side by side; all that is decided about room is asked
 * of budget.c, and where objects come from or go to is one of two places: a depot, or their owners.
 */
#include "cache/magazine.h"

#include "base/options.h"
#include "base/random.h"
#include "cache/budget.h"
#include "cache/count.h"
#include "cache/depot.h"
#include "cache/owner.h"
#include "os/check.h"
#include "page/bound.h"
#include "slab/large.h"

#include <string.h>

#define FILL_OBJECTS 4    /* a step from the slabs brings so many where there is room, whatever their size */
#define EARNED 6          /* misses for which a magazine grows, */
#define EARNED_BYTES 64u  /* one more for so many bytes of an object: who does little keeps little */
#define EARNED_MOST 22    /* and no more than so many */
#define FIRST_BYTES 1024u /* a class of objects up to so large always has room for a few */
#define SWEEP 4           /* classes looked after at each tick */
#define REFRESH 16        /* misses after which a thread asks again where it runs, and what its share is */

/* Allocations until a class is looked after again: shorter while a reader waits for bytes allocated. */
static uint32_t
usual_period(unsigned code)
{
    size_t step = atomic_load_explicit(&hew_cache_step, memory_order_relaxed), size = hew_code_size(code);
    if (step == 0 || size == 0) { /* a code that is no cached class's has no size */
        return HEW_CACHE_PERIOD;
    }
    size_t most = step / size;
    return most >= HEW_CACHE_PERIOD ? HEW_CACHE_PERIOD : most == 0 ? 1 : (uint32_t)most;
}

void
hew_magazine_begin(struct hew_cache *cache)
{
    memset(cache->touched, 0, sizeof cache->touched);
    for (unsigned code = 0; code < HEW_CODES; code++) {
        hew_budget_close(cache, code);
        cache->ticks[code] = usual_period(code);
        cache->classes[code].counted = cache->ticks[code];
    }
}

/* The program's own mistakes end in fatal messages, each at its place; what is asked here must hold whatever it frees. */
static bool
object_valid(const void *object, unsigned code)
{
    unsigned shown = hew_map_code((uintptr_t)object);
    bool large = code > HEW_CODE_SMALL_LAST; /* one that was freed twice may lie in a depot as well */
    return object != NULL && (shown == code || shown == HEW_CODE_SLOW || (large && shown == HEW_CODE_NONE));
}

/* The class's magazine lies within its array, begins with NULL and holds what the address map knows as objects of the class; a
 * long one is not walked each time. */
static bool
magazine_valid(const struct hew_cache *cache, unsigned code)
{
    if (cache->classes[code].base == NULL) {
        return cache->limit[code] == NULL && cache->top[code][-1] == NULL;
    }
    size_t depth = hew_cache_depth(cache, code);
    bool inside = cache->top[code] > cache->classes[code].base && cache->top[code] <= cache->limit[code];
    if (!inside || cache->classes[code].base[0] != NULL) {
        return false;
    }
    if (hew_check_may_walk(depth)) {
        for (size_t at = 1; at <= depth; at++) {
            if (!object_valid(cache->classes[code].base[at], code)) {
                return false;
            }
        }
    }
    return true;
}

/* Whether a depot stands between the class and the arenas: it is cached, and not by an explicit cache. */
static bool
has_depot(const struct hew_cache *cache, unsigned code)
{
    return HEW_LIKELY(cache->classes[code].most != 0) && HEW_LIKELY(!cache->direct) &&
           HEW_LIKELY(!cache->arena->manual);
}

/* Under memory pressure each running thread flushes its cache at its next slow path. */
static HEW_COLD HEW_NOINLINE void
answer_call(struct hew_cache *cache)
{
    uint8_t calls = atomic_load_explicit(&hew_page_bound.calls, memory_order_relaxed);
    if (cache->answered != calls) {
        cache->answered = calls;
        hew_magazine_send_all_home(cache);
    }
}

/* Whether the class has missed often enough since its magazine grew last: the more often, the larger its objects are, so that who
 * does little keeps little. */
static bool
has_earned(struct hew_cache *cache, unsigned code)
{
    unsigned needed = EARNED + hew_slab_shapes[code].size / EARNED_BYTES;
    cache->classes[code].earned += cache->classes[code].earned < EARNED_MOST;
    return cache->classes[code].earned >= (needed < EARNED_MOST ? needed : EARNED_MOST) ||
           (cache->classes[code].flags & HEW_CLASS_CHOSEN) != 0 || cache->direct;
}

/* What is left leaves room for what the program frees next, so that this alone does not make the magazine grow again. */
static void
magazine_halve(struct hew_cache *cache, unsigned code)
{
    size_t half = hew_budget_capacity(cache, code) / 2;
    if (half == 0) {
        hew_magazine_drop(cache, code);
    } else {
        hew_magazine_flush(cache, code, half / 2);
        hew_budget_set(cache, code, half);
    }
}

/* What the magazine may hold, up to `wanted`: what is left of the share.  A class that is in use gives
 * nothing up for another one; what is idle is halved in time (look_after). */
static size_t
find_room(const struct hew_cache *cache, unsigned code, size_t now, size_t wanted)
{
    if (hew_budget_has_room(cache, code, wanted - now)) {
        return wanted;
    }
    size_t left = hew_budget_left(cache, code);
    return left < wanted - now ? now + left : wanted;
}

/* The magazine may hold more from now on, where that is due and there is room.  A small class always has room for its first
 * objects. */
static void
magazine_grow(struct hew_cache *cache, unsigned code, bool filled)
{
    size_t now = hew_budget_capacity(cache, code);
    bool first = now == 0 && hew_slab_shapes[code].size <= FIRST_BYTES;
    if (!first && !has_earned(cache, code)) {
        return;
    }
    size_t next = hew_budget_next(cache, code, filled);
    if (next <= now) {
        return;
    }
    cache->classes[code].earned = 0; /* where there is no room, too: most misses end with the look above */
    next = first ? next : find_room(cache, code, now, next);
    if (next > now) {
        hew_budget_set(cache, code, next);
    }
}

/* The class's magazine was found empty, or full: it may grow.  Returns true if the previous miss was of the same kind: the class is in
 * a one-way phase. */
static bool
note_miss(struct hew_cache *cache, unsigned code, unsigned kind)
{
    bool one_way = (cache->classes[code].flags & kind) != 0;
    hew_cache_touch(cache, code);
    if (HEW_UNLIKELY(cache->misses % REFRESH == 0)) {
        cache->depot = (uint16_t)hew_depot_here();
        cache->share = hew_budget_share();
        if (hew_page_is_bounded()) {
            answer_call(cache);
        }
    }
    cache->misses++;
    uint8_t stays = cache->classes[code].flags & (uint8_t)~(HEW_CLASS_EMPTIED | HEW_CLASS_FILLED);
    cache->classes[code].flags = (uint8_t)(stays | kind | HEW_CLASS_MISSED);
    if (kind == HEW_CLASS_EMPTIED || one_way ||
        cache->classes[code].base == NULL) { /* one that is never empty need not grow */
        magazine_grow(cache, code, kind == HEW_CLASS_FILLED);
    }
    return one_way;
}

/* Objects from an arena, the last of which should be used first. */
static unsigned
take_fresh(struct hew_cache *cache, unsigned code, void **objects, unsigned wanted)
{
    bool large = code > HEW_CODE_SMALL_LAST;
    if (!large) {
        size_t most = hew_budget_objects(code, hew_budget_step());
        most = most < FILL_OBJECTS ? FILL_OBJECTS : most;
        wanted = wanted < most ? wanted : (unsigned)most;
        unsigned line = hew_budget_line(code);
        HEW_ASSERT(1, line != 0);
        wanted -= wanted > line ? wanted % line : 0;
    }
    struct hew_arena *arena = cache->arena;
    if (large) {
        return hew_large_take_some(hew_arena_for_large(arena, hew_code_size(code)), code, objects, wanted);
    }
    return hew_bin_take(&arena->bins[code], &arena->pages, code, objects, wanted);
}

static HEW_NOINLINE unsigned
magazine_take(struct hew_cache *cache, unsigned code, void **objects, unsigned wanted)
{
    unsigned got = has_depot(cache, code) ? hew_depot_take(cache->depot, code, objects, wanted) : 0;
    got = got != 0 ? got : take_fresh(cache, code, objects, wanted);
    cache->classes[code].balance -= got;
    return got;
}

/* An object for a class whose magazine is empty.  Half a magazine comes with it, to leave room for what is freed; a whole one
 * where nothing is. */
static HEW_NOINLINE void *
refill(struct hew_cache *cache, unsigned code)
{
    bool one_way = false;
    void *object = NULL;
    if (cache->classes[code].most != 0) {
        one_way = note_miss(cache, code, HEW_CLASS_EMPTIED);
    }
    void **slots = cache->classes[code].base;
    if (slots == NULL) {
        hew_cache_touch(cache, code);
        return magazine_take(cache, code, &object, 1) == 0 ? NULL : object;
    }
    size_t capacity = hew_budget_capacity(cache, code);
    unsigned got = magazine_take(cache, code, slots + 1, (unsigned)(one_way ? capacity : (capacity + 1) / 2));
    cache->top[code] = slots + (got == 0 ? 1 : got);
    HEW_ASSERT(1, cache->top[code] <= cache->limit[code] && cache->classes[code].base[0] == NULL);
    HEW_ASSERT(3, magazine_valid(cache, code));
    return got == 0 ? NULL : slots[got];
}

void *
hew_magazine_pop(struct hew_cache *cache, unsigned code)
{
    void *object = cache->top[code][-1];
    if (object != NULL) {
        cache->top[code]--;
    } else {
        object = refill(cache, code);
    }
    if (object != NULL && code > HEW_CODE_SMALL_LAST) {
        object = hew_large_of_magazine(object, code);
    }
    if (HEW_UNLIKELY(object == NULL)) {
        return NULL;
    }
    /* 0: hew_cache_pop() has counted this one, and left the end of the period to us. */
    if (cache->ticks[code] == 0 || --cache->ticks[code] == 0) {
        hew_magazine_tick(cache, code);
    }
    return object;
}

/* Objects leave this cache, the oldest first. */
static void
magazine_give(struct hew_cache *cache, unsigned code, void **objects, unsigned count)
{
    HEW_ASSERT(1, count != 0 && code != HEW_CODE_NONE && code <= HEW_CODE_CACHED_LAST);
    cache->classes[code].balance += count;
    if (has_depot(cache, code)) {
        hew_depot_give(cache->depot, code, objects, count);
    } else {
        hew_owner_give(code, objects, count);
    }
}

/* A full magazine gives away a part, to have room for what comes: all of it where nothing was allocated since it was full last. */
static size_t
given_of(const struct hew_cache *cache, unsigned code, bool one_way)
{
    size_t capacity = hew_budget_capacity(cache, code);
    unsigned part =
        code > HEW_CODE_SMALL_LAST ? hew_options.lg_tcache_flush_large_div : hew_options.lg_tcache_flush_small_div;
    if (one_way && (cache->classes[code].flags & HEW_CLASS_CHOSEN) == 0) {
        return capacity;
    }
    return capacity >> part == 0 ? 1 : capacity >> part;
}

/* An object for a class whose magazine is full. */
static HEW_NOINLINE void
overflow(struct hew_cache *cache, unsigned code, void *object)
{
    bool one_way = false;
    if (cache->classes[code].most != 0) {
        one_way = note_miss(cache, code, HEW_CLASS_FILLED);
    }
    if (cache->classes[code].base == NULL) {
        hew_cache_touch(cache, code);
        magazine_give(cache, code, &object, 1);
        return;
    }
    if (cache->top[code] == cache->limit[code]) {
        hew_magazine_flush(cache, code, hew_budget_capacity(cache, code) - given_of(cache, code, one_way));
    }
    *cache->top[code]++ = object;
}

void
hew_magazine_push(struct hew_cache *cache, unsigned code, void *object)
{
    if (cache->top[code] < cache->limit[code]) {
        *cache->top[code]++ = object;
    } else {
        overflow(cache, code, object);
    }
}

void
hew_magazine_unpop(struct hew_cache *cache, unsigned code, void *object)
{
    if (cache->classes[code].base == NULL || cache->top[code] == cache->limit[code]) {
        hew_owner_give(code, &object, 1); /* the count of those that came in stands: the request has been served */
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
    void **slots = cache->classes[code].base + 1;
    magazine_give(cache, code, slots, (unsigned)(depth - keep));
    memmove(slots, slots + depth - keep, keep * sizeof *slots);
    cache->top[code] = slots + keep;
    HEW_ASSERT(3, magazine_valid(cache, code));
}

void
hew_magazine_drop(struct hew_cache *cache, unsigned code)
{
    if (cache->classes[code].base != NULL) {
        hew_magazine_flush(cache, code, 0);
        hew_budget_end(cache, code);
    }
}

void
hew_magazine_drop_all(struct hew_cache *cache)
{
    HEW_EACH_TOUCHED(cache, code)
    {
        hew_magazine_drop(cache, code);
    }
}

void
hew_magazine_send_all_home(struct hew_cache *cache)
{
    bool direct = cache->direct;
    cache->direct = true;
    hew_magazine_drop_all(cache);
    cache->direct = direct;
}

/* A class that has not missed since it was looked after last, or whose thread has more than its share by now, keeps half of its
 * magazine; in the end none. */
static void
look_after(struct hew_cache *cache, unsigned code)
{
    bool missed = (cache->classes[code].flags & HEW_CLASS_MISSED) != 0,
         chosen = (cache->classes[code].flags & HEW_CLASS_CHOSEN) != 0;
    if ((!missed && !chosen) || !hew_budget_has_room(cache, code, 0)) {
        magazine_halve(cache, code);
    }
    cache->classes[code].flags &= (uint8_t)~HEW_CLASS_MISSED;
}

/* With hardening:sample: the length of a period that begins, `period` at most.  One object in about
 * hew_cache_guard_interval ends its period, and is guarded.  A hash of the count says where, within one interval, it lies.
 * So the choice needs no state, and a change of the interval is heeded from the next period on. */
static HEW_NOINLINE uint32_t
guard_period(struct hew_cache *cache, unsigned code, uint32_t period)
{
    uint8_t *flags = &cache->classes[code].flags;
    uint32_t interval = atomic_load_explicit(&hew_cache_guard_interval, memory_order_relaxed);
    if ((*flags & HEW_CLASS_GUARD) != 0) {
        *flags &= (uint8_t)~HEW_CLASS_GUARD;
        cache->due |= HEW_DUE_GUARD;
    }
    if (interval == 0 || code == HEW_CODE_NONE || code > HEW_CODE_SMALL_LAST) {
        return period;
    }
    uint64_t turn = atomic_load_explicit(&hew_cache_guard_turn, memory_order_relaxed);
    struct hew_random random = {((uintptr_t)cache ^ cache->classes[code].counted << 8 ^ code) + (turn << 32)};
    uint32_t next = (uint32_t)((hew_random_next(&random) >> 32) * interval >> 32);
    if (next >= period) {
        return period;
    }
    *flags |= HEW_CLASS_GUARD;
    return next + 1;
}

void
hew_magazine_guard_begin(struct hew_cache *cache)
{
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        cache->ticks[code] = guard_period(cache, code, cache->ticks[code]);
        cache->classes[code].counted = cache->ticks[code];
    }
    cache->due &= (uint8_t)~HEW_DUE_GUARD;
}

/* How many allocations the next period takes: to the next sample at most, and not past what is watched. */
static uint32_t
next_period(struct hew_cache *cache, unsigned code)
{
    uint32_t period = usual_period(code);
    if (hew_options.prof) {
        if (cache->classes[code].unsampled == 0) {
            cache->due |= HEW_DUE_SAMPLE;
            cache->due_code = (uint8_t)code;
            return period; /* the profiler will say */
        }
        period = cache->classes[code].unsampled < period ? cache->classes[code].unsampled : period;
        cache->classes[code].unsampled -= period;
    }
    return HEW_UNLIKELY(hew_options.hardening == HEW_HARDENING_SAMPLE) ? guard_period(cache, code, period) : period;
}

/* A reader of the count on another thread reads again while there are no ticks: see hew_count_requests(). */
static void
begin_period(struct hew_cache *cache, unsigned code, uint64_t counted, uint32_t ticks)
{
    __atomic_store_n(&cache->ticks[code], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&cache->classes[code].counted, counted, __ATOMIC_RELEASE);
    __atomic_store_n(&cache->ticks[code], ticks, __ATOMIC_RELEASE);
}

void
hew_magazine_sample_after(struct hew_cache *cache, unsigned code, uint32_t allocations)
{
    uint32_t usual = usual_period(code), period = allocations < usual ? allocations : usual;
    uint64_t requests = hew_cache_requests(cache, code);
    cache->classes[code].unsampled = allocations - period;
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
    begin_period(cache, code, cache->classes[code].counted + period, period);
    hew_magazine_watch(cache);
    for (unsigned looked = 0; looked < SWEEP; looked++) {
        cache->sweep = (uint8_t)((cache->sweep + 1) % HEW_CODES);
        look_after(cache, cache->sweep);
    }
}

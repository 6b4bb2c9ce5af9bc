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
#include "cache/own.h"
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
#define AT_ONCE 256       /* objects that move together */
#define SWEEP 4           /* classes looked after at each tick */
#define REFRESH 16        /* misses after which a thread asks again where it runs, and what its share is */

/* Allocations until a class is looked after again: before much has been allocated, where somebody waits for that. */
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
    for (unsigned code = 0; code < HEW_CODES; code++) {
        cache->ticks[code] = usual_period(code);
        cache->counted[code] = cache->ticks[code];
    }
}

/* Whether a depot stands between the class and the arenas. */
static bool
has_depot(const struct hew_cache *cache, const struct hew_slot *slot, unsigned code)
{
    return HEW_LIKELY(hew_budget_most(slot, code) != 0) && HEW_LIKELY(!slot->direct) &&
           HEW_LIKELY(!cache->arena->manual);
}

/* Near a limit of memory somebody has found too little to return: each slot in use returns what it keeps. */
static HEW_COLD HEW_NOINLINE void
answer_call(struct hew_cache *cache, struct hew_slot *slot)
{
    uint8_t calls = atomic_load_explicit(&hew_page_bound.calls, memory_order_relaxed);
    if (slot->answered != calls) {
        slot->answered = calls;
        hew_magazine_send_all_home(cache);
    }
}

/* Whether the class has missed often enough since it grew last: the more often, the larger its objects are. */
static bool
has_earned(struct hew_slot *slot, unsigned code)
{
    unsigned needed = EARNED + hew_slab_shapes[code].size / EARNED_BYTES;
    slot->classes[code].earned += slot->classes[code].earned < EARNED_MOST;
    return slot->classes[code].earned >= (needed < EARNED_MOST ? needed : EARNED_MOST) ||
           hew_budget_is_chosen(slot, code) || slot->direct;
}

/* What the class may hold, up to `wanted`: what is left of the share.  A class that is in use gives nothing up for another one; what
 * is idle is halved in time (look_after). */
static size_t
find_room(const struct hew_slot *slot, unsigned code, size_t now, size_t wanted)
{
    if (hew_budget_has_room(slot, code, wanted - now)) {
        return wanted;
    }
    size_t left = hew_budget_left(slot, code);
    return left < wanted - now ? now + left : wanted;
}

/* The class may hold more from now on, where that is due and there is room.  A small class always has room for its first
 * objects. */
static void
magazine_grow(struct hew_slot *slot, unsigned code, bool filled)
{
    size_t now = slot->classes[code].capacity;
    bool first = now == 0 && hew_slab_shapes[code].size <= FIRST_BYTES;
    if (!first && !has_earned(slot, code)) {
        return;
    }
    size_t next = hew_budget_next(slot, code, filled);
    if (next <= now) {
        return;
    }
    slot->classes[code].earned = 0; /* where there is no room, too: most misses end with the look above */
    next = first ? next : find_room(slot, code, now, next);
    if (next > now) {
        hew_slot_set(slot, code, next);
    }
}

/* The slot that the thread uses now, set up. */
static struct hew_slot *
slot_of(struct hew_cache *cache)
{
    struct hew_slot *slot = hew_slot_here(&cache->where);
    if (HEW_UNLIKELY(slot->shared && atomic_load_explicit(&hew_slot_count, memory_order_relaxed) == 0)) {
        hew_own_choose(cache, false);
        slot = hew_slot_here(&cache->where);
    }
    if (HEW_UNLIKELY(slot->most == NULL)) {
        slot->shared = true;
        slot->depot = (uint16_t)hew_depot_here();
        hew_slot_begin(slot, hew_budget_defaults());
    }
    return slot;
}

/* The class was found empty, or full: it may grow.  Returns true if the previous miss was of the same kind: the class is in a one-way
 * phase. */
static HEW_NOINLINE bool
note_miss(struct hew_cache *cache, struct hew_slot *slot, unsigned code, unsigned kind)
{
    if (hew_budget_most(slot, code) == 0) {
        return false;
    }
    bool one_way = (slot->classes[code].flags & kind) != 0;
    if (HEW_UNLIKELY(slot->misses % REFRESH == 0)) {
        slot->depot = (uint16_t)hew_depot_here();
        slot->share = hew_budget_share();
        if (hew_page_is_bounded()) {
            answer_call(cache, slot);
        }
    }
    slot->misses++;
    uint8_t stays = slot->classes[code].flags & (uint8_t)~(HEW_CLASS_EMPTIED | HEW_CLASS_FILLED);
    slot->classes[code].flags = (uint8_t)(stays | kind | HEW_CLASS_MISSED);
    if (kind == HEW_CLASS_EMPTIED || one_way ||
        slot->classes[code].capacity == 0) { /* one that is never empty need not grow */
        magazine_grow(slot, code, kind == HEW_CLASS_FILLED);
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

/* Objects leave this cache, the oldest first. */
static void
magazine_give(struct hew_cache *cache, struct hew_slot *slot, unsigned code, void **objects, unsigned count)
{
    HEW_ASSERT(1, count != 0 && code != HEW_CODE_NONE && code <= HEW_CODE_CACHED_LAST);
    if (has_depot(cache, slot, code)) {
        hew_depot_give(slot->depot, code, objects, count);
    } else {
        hew_owner_give(code, objects, count);
    }
}

/* Objects come back to the slot, or, where another thread has filled it meanwhile, go on. */
static HEW_NOINLINE void
keep(struct hew_cache *cache, struct hew_slot *slot, unsigned code, void **objects, unsigned count)
{
    unsigned kept = count == 0 ? 0 : hew_slot_push_some(&cache->where, code, objects, count);
    if (kept < count) {
        magazine_give(cache, slot, code, objects + kept, count - kept);
    }
}

/* An object for a class that is empty.  Half of what it may hold comes with it, to leave room for what is freed; all of it where
 * nothing is. */
static HEW_NOINLINE void *
refill(struct hew_cache *cache, unsigned code)
{
    void *objects[AT_ONCE];
    struct hew_slot *slot = slot_of(cache);
    bool one_way = note_miss(cache, slot, code, HEW_CLASS_EMPTIED);
    unsigned capacity = slot->classes[code].capacity, wanted = one_way ? capacity : capacity / 2 + 1;
    wanted = capacity == 0 ? 1 : wanted > AT_ONCE ? AT_ONCE : wanted;
    unsigned got = has_depot(cache, slot, code) ? hew_depot_take(slot->depot, code, objects, wanted) : 0;
    if (got == 0) {
        got = take_fresh(cache, code, objects, wanted);
    }
    HEW_ASSERT(1, got <= wanted);
    if (got == 0) {
        return NULL;
    }
    keep(cache, slot, code, objects, got - 1);
    return objects[got - 1];
}

void *
hew_magazine_pop(struct hew_cache *cache, unsigned code)
{
    void *object = hew_slot_take(&cache->where, code);
    object = object != NULL ? object : refill(cache, code);
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

/* Up to `count` objects leave the slot from below its newest ones. */
static HEW_NOINLINE void
flush(struct hew_cache *cache, struct hew_slot *slot, unsigned code, size_t count)
{
    void *newest[AT_ONCE], *objects[AT_ONCE];
    unsigned got = 1;
    while (count != 0 && got != 0) {
        size_t depth = hew_slot_depth(slot, code), stay = depth > count ? depth - count : 0;
        unsigned kept = stay == 0 ? 0 : hew_slot_pop_some(&cache->where, code, newest, stay < AT_ONCE ? stay : AT_ONCE);
        got = hew_slot_pop_some(&cache->where, code, objects, count < AT_ONCE ? count : AT_ONCE);
        keep(cache, slot, code, newest, kept);
        if (got != 0) {
            magazine_give(cache, slot, code, objects, got);
        }
        count -= got;
    }
}

/* A full class gives away a part, to have room for what comes: all of it where nothing was allocated since it was full last. */
static size_t
given_of(const struct hew_slot *slot, unsigned code, bool one_way)
{
    size_t capacity = slot->classes[code].capacity;
    unsigned part =
        code > HEW_CODE_SMALL_LAST ? hew_options.lg_tcache_flush_large_div : hew_options.lg_tcache_flush_small_div;
    if (one_way && !hew_budget_is_chosen(slot, code)) {
        return capacity;
    }
    return capacity >> part == 0 ? 1 : capacity >> part;
}

/* An object for a class that is full. */
static HEW_NOINLINE void
overflow(struct hew_cache *cache, unsigned code, void *object)
{
    struct hew_slot *slot = slot_of(cache);
    bool one_way = note_miss(cache, slot, code, HEW_CLASS_FILLED);
    if (slot->classes[code].capacity != 0) {
        if (hew_slot_put(&cache->where, code, object) == HEW_PUSH_DONE) {
            return;
        }
        flush(cache, slot, code, given_of(slot, code, one_way));
        if (hew_slot_put(&cache->where, code, object) == HEW_PUSH_DONE) {
            return;
        }
    }
    magazine_give(cache, slot, code, &object, 1);
}

bool
hew_magazine_push(struct hew_cache *cache, unsigned code, void *object)
{
    int done = hew_slot_put(&cache->where, code, object);
    /* A full class has not compared. */
    if (done == HEW_PUSH_TWICE || (done == HEW_PUSH_FULL && hew_slot_peek(&cache->where, code) == object)) {
        return false;
    }
    cache->frees[code]++;
    if (done == HEW_PUSH_FULL) {
        overflow(cache, code, object);
    }
    return true;
}

void
hew_magazine_unpop(struct hew_cache *cache, unsigned code, void *object)
{
    if (hew_slot_put(&cache->where, code, object) != HEW_PUSH_DONE) {
        hew_owner_give(code, &object, 1);
    }
}

void
hew_magazine_send_all_home(struct hew_cache *cache)
{
    if (cache->own != NULL) {
        hew_slot_empty(cache->own);
    }
    if (!cache->direct) {
        hew_slot_drain(true);
    }
}

/* A class that was not used since it was looked after last keeps half of its capacity; in the end none.  Used: it missed, or holds
 * another number of objects than then. */
static void
look_after(struct hew_cache *cache, struct hew_slot *slot, unsigned code)
{
    struct hew_slot_class *class = &slot->classes[code];
    size_t capacity = class->capacity, depth = hew_slot_depth(slot, code);
    bool used = (class->flags & HEW_CLASS_MISSED) != 0 || class->seen != (uint8_t)depth;
    class->flags &= (uint8_t)~HEW_CLASS_MISSED;
    class->seen = (uint8_t)depth;
    if (capacity != 0 && ((!used && !hew_budget_is_chosen(slot, code)) || slot->granted / 2 > slot->share)) {
        flush(cache, slot, code, depth > capacity / 4 ? depth - capacity / 4 : 0);
        hew_slot_set(slot, code, capacity / 2);
    }
}

/* With hardening:sample: the length of a period that begins, `period` at most.  One object in about
 * hew_cache_guard_interval ends its period, and is guarded.  A hash of the count says where, within one interval, it lies.
 * So the choice needs no state, and a change of the interval is heeded from the next period on. */
static HEW_NOINLINE uint32_t
guard_period(struct hew_cache *cache, unsigned code, uint32_t period)
{
    uint32_t interval = atomic_load_explicit(&hew_cache_guard_interval, memory_order_relaxed);
    if (cache->guarded[code]) {
        cache->guarded[code] = false;
        cache->due |= HEW_DUE_GUARD;
    }
    if (interval == 0 || code == HEW_CODE_NONE || code > HEW_CODE_SMALL_LAST) {
        return period;
    }
    uint64_t turn = atomic_load_explicit(&hew_cache_guard_turn, memory_order_relaxed);
    struct hew_random random = {((uintptr_t)cache ^ cache->counted[code] << 8 ^ code) + (turn << 32)};
    uint32_t next = (uint32_t)((hew_random_next(&random) >> 32) * interval >> 32);
    if (next >= period) {
        return period;
    }
    cache->guarded[code] = true;
    return next + 1;
}

void
hew_magazine_guard_begin(struct hew_cache *cache)
{
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        cache->ticks[code] = guard_period(cache, code, cache->ticks[code]);
        cache->counted[code] = cache->ticks[code];
    }
    cache->due &= (uint8_t)~HEW_DUE_GUARD;
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
    return HEW_UNLIKELY(hew_options.hardening == HEW_HARDENING_SAMPLE) ? guard_period(cache, code, period) : period;
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
    uint64_t requests = hew_cache_requests(cache, code);
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
    struct hew_slot *slot = slot_of(cache);
    for (unsigned looked = 0; looked < SWEEP; looked++) {
        slot->sweep = (uint8_t)(slot->sweep % HEW_CODE_CACHED_LAST + 1);
        look_after(cache, slot, slot->sweep);
    }
}

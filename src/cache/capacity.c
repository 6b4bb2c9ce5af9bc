/* SPDX-License-Identifier: MIT */
#include "cache/capacity.h"

#include "meta/memory.h"

#include <string.h>

#define SLOTS_MIN 8 /* with the NULL: one cache line */
/* Up to here a magazine grows without being used both ways: a part of the heap, within bounds. */
#define LEAN_MIN ((size_t)4 << 10)
#define LEAN_MAX ((size_t)32 << 10)
#define LEAN_PART 4096
#define LEAN_OBJECTS 64
/* What all threads' magazines may hold together: a sixteenth of the heap, within bounds.  A flat 8 MiB made programs of
 * 15 to 60 MB up to a third larger and at most a tenth faster. */
#define BUDGET_MIN ((size_t)3 << 19)
#define BUDGET_MAX ((size_t)8 << 20)
#define BUDGET_PART 16
/* A thread that works with few classes may hold more of each; once its magazines take up this part of its share, a small one
 * grows to so much at most. */
#define CROWDED_PART 8
#define CROWDED_BYTES ((size_t)64 << 10)
#define SHARE_MIN ((size_t)41 << 10) /* a thread's share of the budget is never less */
#define RICH_AMONG 8                 /* classes that are asked what they may hold */
/* A class for whose usual beginning the share has no room begins with this part of the share at most: many classes with a
 * few objects each, instead of few that take from each other what they begin with. */
#define FEW_PART 64
#define LOAN_PART 8 /* this part of the share goes round among the classes */
#define LOAN_FROM (2 * SHARE_MIN)
#define LOAN_SLOTS 256 /* in an array of so many slots, with the NULL */

static void *no_slot[2]; /* never written: the NULL below every missing magazine */

void
hew_capacity_close(struct hew_cache *cache, unsigned code)
{
    cache->top[code] = &no_slot[1];
    cache->limit[code] = NULL;
    cache->base[code] = NULL;
}

/* A magazine's array is the smallest power of two that holds its capacity and the NULL. */
static size_t
slots_for(size_t capacity)
{
    size_t slots = (size_t)1 << hew_bits_ceil_log2(capacity + 1);
    return slots < SLOTS_MIN ? SLOTS_MIN : slots;
}

void
hew_capacity_end(struct hew_cache *cache, unsigned code)
{
    hew_meta_give(cache->base[code], slots_for(hew_capacity_of(cache, code)) * sizeof(void *));
    hew_capacity_close(cache, code);
}

size_t
hew_capacity_share(void)
{
    unsigned threads = atomic_load_explicit(&hew_caches_alive, memory_order_relaxed);
    size_t budget = atomic_load_explicit(&hew_page_mapped, memory_order_relaxed) / BUDGET_PART;
    budget = budget < BUDGET_MIN ? BUDGET_MIN : budget > BUDGET_MAX ? BUDGET_MAX : budget;
    size_t share = (uint32_t)budget / (threads == 0 ? 1 : threads);
    return share < SHARE_MIN ? SHARE_MIN : share;
}

/* The part that goes round: nothing of a share so small that all classes are short of room. */
static size_t
loan_of(size_t share)
{
    return share < LOAN_FROM ? 0 : share / LOAN_PART;
}

bool
hew_capacity_has_room(const struct hew_cache *cache, unsigned code, size_t objects)
{
    size_t share = hew_capacity_share();
    return (cache->flags[code] & HEW_CLASS_CHOSEN) != 0 ||
           cache->granted + hew_capacity_bytes(code, objects) <= share - loan_of(share);
}

/* What a class begins with. */
static size_t
least(const struct hew_cache *cache, unsigned code)
{
    size_t usual = SLOTS_MIN - 1;
    if (code > HEW_CODE_SMALL_LAST) {
        return 1;
    }
    if (hew_capacity_has_room(cache, code, usual)) {
        return usual;
    }
    size_t few = hew_capacity_objects(code, hew_capacity_share() / FEW_PART);
    return few == 0 ? 1 : few < usual ? few : usual;
}

size_t
hew_capacity_lean(const struct hew_cache *cache, unsigned code)
{
    size_t bytes = atomic_load_explicit(&hew_page_mapped, memory_order_relaxed) / LEAN_PART;
    bytes = bytes < LEAN_MIN ? LEAN_MIN : bytes > LEAN_MAX ? LEAN_MAX : bytes;
    size_t most = cache->most[code], objects = hew_capacity_objects(code, bytes);
    objects = objects > LEAN_OBJECTS - 1 ? LEAN_OBJECTS - 1 : objects;
    return objects < most ? objects : most;
}

/* The class's objects stand in `slots`, which may be where they are; the array before, or NULL. */
static void **
move(struct hew_cache *cache, unsigned code, void **slots, size_t capacity)
{
    void **before = cache->base[code];
    size_t depth = hew_cache_depth(cache, code);
    if (before != NULL && before != slots) {
        memcpy(slots, before, (depth + 1) * sizeof *slots);
    }
    cache->base[code] = slots;
    cache->top[code] = slots + 1 + depth;
    cache->limit[code] = slots + 1 + capacity;
    return before;
}

bool
hew_capacity_set(struct hew_cache *cache, unsigned code, size_t capacity)
{
    size_t held = slots_for(hew_capacity_of(cache, code)) * sizeof(void *),
           wanted = slots_for(capacity) * sizeof(void *);
    void **slots = cache->base[code];
    if ((slots == NULL || held != wanted) && (slots = hew_meta_take(wanted)) == NULL) {
        return false;
    }
    void **before = move(cache, code, slots, capacity);
    if (before != NULL && before != slots) {
        hew_meta_give(before, held);
    }
    return true;
}

size_t
hew_capacity_with_loan(const struct hew_cache *cache, unsigned code)
{
    size_t objects = hew_capacity_objects(code, loan_of(hew_capacity_share()));
    size_t most = cache->most[code] < LOAN_SLOTS ? cache->most[code] : LOAN_SLOTS - 1;
    return objects < most ? objects : most;
}

void
hew_capacity_lend(struct hew_cache *cache, unsigned code, size_t capacity)
{
    struct hew_cache_loan *loan = &cache->loan;
    if (loan->slots == NULL && (loan->slots = hew_meta_take(LOAN_SLOTS * sizeof *loan->slots)) == NULL) {
        return;
    }
    loan->capacity = (uint16_t)hew_capacity_of(cache, code);
    loan->base = move(cache, code, loan->slots, capacity);
    loan->code = (uint8_t)code;
}

void
hew_capacity_call_in(struct hew_cache *cache)
{
    struct hew_cache_loan *loan = &cache->loan;
    move(cache, loan->code, loan->base, loan->capacity);
    loan->code = HEW_CODE_NONE;
}

void
hew_capacity_end_loan(struct hew_cache *cache)
{
    if (cache->loan.slots != NULL) {
        hew_meta_give(cache->loan.slots, LOAN_SLOTS * sizeof *cache->loan.slots);
        cache->loan.slots = NULL;
    }
}

/* The most objects that a magazine used both ways may grow to. */
static size_t
most_used_both_ways(const struct hew_cache *cache, unsigned code)
{
    size_t most = cache->most[code], crowded = hew_capacity_objects(code, CROWDED_BYTES);
    bool chosen = (cache->flags[code] & HEW_CLASS_CHOSEN) != 0;
    if (most <= crowded || code > HEW_CODE_SMALL_LAST || chosen) {
        return most;
    }
    return cache->granted <= hew_capacity_share() / CROWDED_PART ? most : crowded;
}

size_t
hew_capacity_grown(const struct hew_cache *cache, unsigned code, unsigned miss)
{
    unsigned both = HEW_CLASS_REFILLED | HEW_CLASS_OVERFLOWED, flags = cache->flags[code] | miss;
    bool one_way = (flags & both) != both && (flags & HEW_CLASS_CHOSEN) == 0;
    size_t most = one_way ? hew_capacity_lean(cache, code) : most_used_both_ways(cache, code);
    size_t now = hew_capacity_of(cache, code), next = now == 0 ? least(cache, code) : now * 2 + 1;
    if (now != 0 && !hew_capacity_has_room(cache, code, next - now)) {
        next = now + now / 2 + 1;
    }
    next = next > most ? most : next;
    return next > now ? next : now;
}

/*
 * How little a class needs its next byte.  Batches that pass through a magazine of n objects make it miss in proportion to 1 / n, frees and
 * allocations in random order to 1 / n^2: all misses together are fewest where n^2, or n^3, times the size is the same for each class.
 */
static uint64_t
wealth(unsigned code, size_t objects)
{
    return (uint64_t)objects * objects * hew_slab_shapes[code].size;
}

unsigned
hew_capacity_richest(struct hew_cache *cache, unsigned poor, size_t more)
{
    unsigned richest = HEW_CODE_NONE;
    size_t bytes = 2 * hew_capacity_bytes(poor, more);
    uint64_t most = wealth(poor, hew_capacity_of(cache, poor) + more);
    for (unsigned looked = 0; looked < RICH_AMONG; looked++) {
        unsigned code = hew_cache_next_touched(cache, cache->asked);
        cache->asked = code == HEW_CODES ? 0 : (uint8_t)(code + 1);
        if (code == HEW_CODES) {
            continue;
        }
        size_t capacity = hew_capacity_of(cache, code);
        bool may_give =
            capacity > 1 && code != poor && code != cache->loan.code && (cache->flags[code] & HEW_CLASS_CHOSEN) == 0;
        if (may_give && hew_capacity_bytes(code, capacity) >= bytes && wealth(code, capacity) > most) {
            most = wealth(code, capacity);
            richest = code;
        }
    }
    return richest;
}

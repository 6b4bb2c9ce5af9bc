/* SPDX-License-Identifier: MIT */
/*
 * budget: every few misses a thread computes its share from the number of threads and the heap's size.  A thread that
 * starts or ends need not tell the others.  Arrays are powers of two.
 */
#include "cache/budget.h"

#include "base/options.h"
#include "meta/memory.h"
#include "page/bound.h"
#include "page/due.h"

#include <string.h>

/* With one thread its magazines and the depot hold so small a part of the heap each, 3 % together.  Measured on nineteen programs with
 * one thread: a 16th each held 1.067 of glibc's memory, a 32nd 1.054, a 64th 1.050, in the same time (docs/decisions/0086). */
#define ALONE_PART 64
#define ALONE_SHARE_MIN ((size_t)64 << 10)
#define ALONE_DEPOT_MIN ((size_t)128 << 10)
#define ALONE_MOST ((size_t)8 << 20)
/* Among several a thread has its part of a sum, but always enough for bursts of some hundred objects, which it has to earn: see
 * magazine.c.  The depots, through which threads pass on what they free, hold a part of the heap. */
#define SHARES_SUM ((size_t)16 << 20)
#define SHARE_MIN ((size_t)256 << 10)
#define SHARE_MOST ((size_t)512 << 10)
#define DEPOT_PART 8
#define DEPOTS_MIN ((size_t)512 << 10)
#define DEPOTS_MOST ((size_t)16 << 20)
#define TIGHT_HALVES 2 /* near a limit of memory threads have one half of what caches may hold, depots the other */
#define STEP_MOST ((size_t)256 << 10)
/* Slow start: a magazine begins with a few objects, which with the NULL below them are a cache line. */
#define BATCH 7
#define BATCH_BYTES ((size_t)1 << 10)

/* What one class may hold where the user has said nothing: so many bytes (of a large class so many, or one object), and objects. */
#define CLASS_BYTES ((size_t)256 << 10)
#define LARGE_BYTES ((size_t)1 << 20)
#define OBJECTS_MAX 1023

#define CHOSEN (UINT32_C(1) << 31)
static void *no_slot[2]; /* never written: the NULL below every missing magazine */

void
hew_budget_close(struct hew_cache *cache, unsigned code)
{
    cache->top[code] = &no_slot[1];
    cache->limit[code] = NULL;
    cache->classes[code].base = NULL;
}

/* A magazine's array is the smallest power of two that holds its capacity and the NULL. */
static size_t
slots_for(size_t capacity)
{
    size_t slots = (size_t)1 << hew_bits_ceil_log2(capacity + 1);
    return slots <= BATCH ? BATCH + 1 : slots;
}

void
hew_budget_end(struct hew_cache *cache, unsigned code)
{
    size_t capacity = hew_budget_capacity(cache, code);
    hew_meta_give(cache->classes[code].base, slots_for(capacity) * sizeof(void *));
    cache->granted -= hew_budget_bytes(code, capacity);
    hew_budget_close(cache, code);
}

static unsigned
threads_alive(void)
{
    unsigned threads = atomic_load_explicit(&hew_caches_alive, memory_order_relaxed);
    return threads == 0 ? 1 : threads;
}

static size_t
within(size_t bytes, size_t least, size_t most)
{
    return bytes < least ? least : bytes > most ? most : bytes;
}

struct hew_budget_room hew_budget_room = {
    .share = HEW_BUDGET_USUAL, .depots = HEW_BUDGET_USUAL, .step = HEW_BUDGET_STEP};

static bool
is_usual(void)
{
    return !HEW_UNLIKELY(atomic_load_explicit(&hew_budget_room.unusual, memory_order_relaxed));
}

/* Never reset: a reader then looks up the actual values, and one caller need not know of another's reason. */
HEW_COLD void
hew_budget_note_limit(void)
{
    atomic_store_explicit(&hew_budget_room.unusual, true, memory_order_relaxed);
}

static void
note_unusual(unsigned percent)
{
    if (percent != HEW_BUDGET_USUAL) {
        hew_budget_note_limit();
    }
}

HEW_COLD void
hew_budget_set_share(unsigned percent)
{
    size_t step =
        (size_t)HEW_BUDGET_STEP * (percent < HEW_BUDGET_USUAL ? HEW_BUDGET_USUAL : percent) / HEW_BUDGET_USUAL;
    atomic_store_explicit(&hew_budget_room.share, percent, memory_order_relaxed);
    atomic_store_explicit(&hew_budget_room.step, step < STEP_MOST ? step : STEP_MOST, memory_order_relaxed);
    note_unusual(percent);
}

HEW_COLD void
hew_budget_set_depots(unsigned percent)
{
    atomic_store_explicit(&hew_budget_room.depots, percent, memory_order_relaxed);
    note_unusual(percent);
}

/* Where there is a limit of memory, no more than such a part of what all caches may hold near it. */
static size_t
within_limit(size_t bytes, unsigned part)
{
    if (!hew_page_is_bounded()) {
        return bytes;
    }
    size_t most = atomic_load_explicit(&hew_page_bound.caches, memory_order_relaxed) / part;
    return bytes < most ? bytes : most;
}

/* So much of the bytes of each of so many; where there is a limit of memory, what is left near it. */
static HEW_COLD HEW_NOINLINE size_t
adjusted(size_t bytes, unsigned among, const _Atomic uint32_t *percent)
{
    bytes = bytes * atomic_load_explicit(percent, memory_order_relaxed) / HEW_BUDGET_USUAL;
    return within_limit(bytes, TIGHT_HALVES * among);
}

static size_t
heap_bytes(void)
{
    return atomic_load_explicit(&hew_page_mapped, memory_order_relaxed);
}

size_t
hew_budget_share(void)
{
    unsigned threads = threads_alive();
    size_t share = threads == 1 ? within(heap_bytes() / ALONE_PART, ALONE_SHARE_MIN, ALONE_MOST)
                                : within((uint32_t)SHARES_SUM / threads, SHARE_MIN, SHARE_MOST);
    return is_usual() ? share : adjusted(share, threads, &hew_budget_room.share);
}

/* What all depots may usually hold. */
static size_t
usual_depots(void)
{
    return threads_alive() == 1 ? within(heap_bytes() / ALONE_PART, ALONE_DEPOT_MIN, ALONE_MOST)
                                : within(heap_bytes() / DEPOT_PART, DEPOTS_MIN, DEPOTS_MOST);
}

size_t
hew_budget_depot(unsigned depots)
{
    size_t all = usual_depots();
    all = is_usual() ? all : adjusted(all, 1, &hew_budget_room.depots);
    return (uint32_t)all / (depots == 0 ? 1 : depots);
}

size_t
hew_budget_next(const struct hew_cache *cache, unsigned code, bool filled)
{
    size_t now = hew_budget_capacity(cache, code), most = cache->classes[code].most;
    if (filled && (cache->classes[code].flags & HEW_CLASS_CHOSEN) == 0) {
        size_t step = hew_budget_objects(code, hew_budget_step());
        most = step < most ? step : most;
    }
    size_t batch = hew_budget_objects(code, BATCH_BYTES);
    batch = batch > BATCH / 2 ? BATCH / 2 : batch;
    size_t lines = 2 * (size_t)hew_budget_line(code) - 1; /* half of that and one more is a whole line */
    batch = batch < lines ? lines : batch;
    size_t next = now == 0 ? batch : now * 2 + 1;
    next = next > most ? most : next;
    return next > now ? next : now;
}

size_t
hew_budget_left(const struct hew_cache *cache, unsigned code)
{
    return cache->granted >= cache->share ? 0 : hew_budget_objects(code, cache->share - cache->granted);
}

/* The class's objects stand in `slots`, which may be where they are. */
static void
budget_move(struct hew_cache *cache, unsigned code, void **slots, size_t capacity)
{
    void **before = cache->classes[code].base;
    size_t depth = hew_cache_depth(cache, code);
    if (before != NULL && before != slots) {
        memcpy(slots, before, (depth + 1) * sizeof *slots);
    }
    slots[0] = NULL;
    cache->classes[code].base = slots;
    cache->top[code] = slots + 1 + depth;
    cache->limit[code] = slots + 1 + capacity;
}

bool
hew_budget_set(struct hew_cache *cache, unsigned code, size_t capacity)
{
    size_t now = hew_budget_capacity(cache, code), held = slots_for(now), wanted = slots_for(capacity);
    void **before = cache->classes[code].base, **slots = before;
    if ((before == NULL || held != wanted) && (slots = hew_meta_take_raw(wanted * sizeof *slots)) == NULL) {
        return false;
    }
    budget_move(cache, code, slots, capacity);
    if (before != NULL && before != slots) {
        hew_meta_give(before, held * sizeof *before);
    }
    cache->granted += hew_budget_bytes(code, capacity) - hew_budget_bytes(code, now);
    return true;
}

static _Atomic uint32_t defaults[HEW_CODES]; /* a limit, with CHOSEN */
static _Atomic bool known;

/* Whether one of the settings that jemalloc computes slots from has another value than jemalloc's. */
static bool
slots_chosen(void)
{
    return hew_options.tcache_nslots_small_min != 20 || hew_options.tcache_nslots_small_max != 200 ||
           hew_options.tcache_nslots_large != 20 || hew_options.lg_tcache_nslots_mul != 1;
}

/* jemalloc's rule: the regions of a slab, times 2^lg_tcache_nslots_mul, within bounds. */
static size_t
slots_by_slab(unsigned code)
{
    if (code > HEW_CODE_SMALL_LAST) {
        return hew_options.tcache_nslots_large;
    }
    size_t regions = hew_slab_shapes[code].regions;
    ssize_t lg = hew_options.lg_tcache_nslots_mul;
    size_t slots = lg >= 0 ? regions << lg : regions >> -lg;
    size_t least = hew_options.tcache_nslots_small_min, most = hew_options.tcache_nslots_small_max;
    most = most < least ? least : most;
    return slots < least ? least : slots > most ? most : slots;
}

size_t
hew_budget_usual(unsigned code)
{
    size_t objects = (code > HEW_CODE_SMALL_LAST ? LARGE_BYTES : CLASS_BYTES) / hew_code_size(code);
    return objects == 0 ? 1 : objects > OBJECTS_MAX ? OBJECTS_MAX : objects;
}

void
hew_budget_limit(struct hew_cache *cache, unsigned code, size_t objects, bool chosen)
{
    cache->classes[code].most = (uint16_t)(objects > HEW_BUDGET_OBJECTS_MAX ? HEW_BUDGET_OBJECTS_MAX : objects);
    cache->classes[code].flags &= (uint8_t)~HEW_CLASS_CHOSEN;
    cache->classes[code].flags |= chosen ? HEW_CLASS_CHOSEN : 0;
}

/* A class's limit by the settings; CHOSEN when it is the user's. */
static uint32_t
by_settings(unsigned code)
{
    size_t size = hew_code_size(code);
    if (size > hew_options.tcache_max) {
        return 0;
    }
    const struct hew_option_ranges *ranges = &hew_options.tcache_ncached_max;
    for (unsigned i = ranges->count; i > 0; i--) { /* the last range that names a size wins */
        if (size >= ranges->at[i - 1].low && size <= ranges->at[i - 1].high) {
            return CHOSEN | (uint32_t)ranges->at[i - 1].value;
        }
    }
    return slots_chosen() ? CHOSEN | (uint32_t)slots_by_slab(code) : (uint32_t)hew_budget_usual(code);
}

/* Settings do not change, so the limits are computed once; by two threads at most, which find the same. */
static void
know_defaults(void)
{
    if (!atomic_load_explicit(&known, memory_order_acquire)) {
        for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
            atomic_store_explicit(&defaults[code], by_settings(code), memory_order_relaxed);
        }
        atomic_store_explicit(&known, true, memory_order_release); /* pairs with the acquire above */
    }
}

void
hew_budget_begin(struct hew_cache *cache)
{
    know_defaults();
    cache->custom = false;
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        uint32_t most = cache->caching ? atomic_load_explicit(&defaults[code], memory_order_relaxed) : 0;
        hew_budget_limit(cache, code, most & ~CHOSEN, (most & CHOSEN) != 0);
    }
}

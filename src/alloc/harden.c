/* SPDX-License-Identifier: MIT */
/* harden: see harden.h.  Only processes with hardening:check or full run this code. */
#include "alloc/harden.h"

#include "alloc/fill.h"
#include "base/random.h"
#include "cache/count.h"
#include "cache/magazine.h"
#include "cache/owner.h"
#include "cache/thread.h"
#include "meta/memory.h"
#include "os/memory.h"
#include "os/process.h"
#include "slab/describe.h"
#include "slab/large.h"

#include <string.h>

#define WAITING 2048                    /* objects in a quarantine, */
#define WAITING_BYTES ((size_t)1 << 20) /* and their bytes: a larger class has fewer */
#define CLOSED 64 /* the same of large objects, whose pages are inaccessible and hold no memory, */
#define CLOSED_BYTES ((size_t)64 << 20)  /* but a larger one waits alone */
#define CHOICE 256                       /* regions in a pool, */
#define CHOICE_BYTES ((size_t)256 << 10) /* and their bytes, */
#define CHOICE_LEAST 16                  /* but no fewer than this */
#define TAIL 0xfb

/* What a thread keeps with `full`.  In hew's own memory, which begins as zeros. */
struct kept {
    struct hew_random random;
    size_t bytes, closed_bytes; /* of the waiting objects */
    uint32_t oldest, waiting, oldest_closed, closed;
    void *ring[WAITING];
    struct hew_extent *closed_ring[CLOSED];
    unsigned count[HEW_CODE_SMALL_LAST + 1];
    void *pool[HEW_CODE_SMALL_LAST + 1][CHOICE];
};
static __thread struct kept *kept;

uint64_t hew_harden_key;
static bool canaries; /* junk and zero write to free objects, and so exclude them; `full` has zeros instead */

void
hew_harden_boot(void)
{
    if (hew_cache_self == NULL) { /* while the loader relocates; hew_harden_take() and hew_harden_give() read it */
        hew_cache_self = &hew_cache_none;
    }
    hew_harden_key = hew_os_random_seed() | 1;
    if (hew_harden_is_full()) { /* free objects are zeros, and all new ones */
        hew_options.zero = false;
        hew_options.junk = HEW_JUNK_FALSE;
        hew_options.san_guard_large = hew_options.san_guard_large == 0 ? 1 : hew_options.san_guard_large;
    }
    canaries = !hew_fill_wanted() && !hew_harden_is_full();
}

bool
hew_harden_birth(struct hew_cache *cache)
{
    if (!hew_thread_front(cache)) {
        return false;
    }
    hew_cache_self->checked = canaries ? cache : NULL;
    return true;
}

HEW_COLD HEW_NOINLINE void *
hew_harden_report_written(void *object)
{
    hew_misuse(HEW_FATAL_written, "malloc", (uintptr_t)object, "the program wrote to its first word after that");
    return object;
}

/* The thread's quarantine and pools.  NULL: there is no memory, or the thread has no cache. */
static struct kept *
own_kept(void)
{
    if (kept == NULL && hew_cache_is_real(hew_cache_self)) {
        kept = hew_meta_take(sizeof *kept);
        if (kept != NULL) {
            kept->random.state = hew_os_random_seed();
        }
    }
    return kept;
}

static unsigned
choice_of(unsigned code)
{
    size_t most = CHOICE_BYTES / hew_code_size(code);
    return most >= CHOICE ? CHOICE : most < CHOICE_LEAST ? CHOICE_LEAST : (unsigned)most;
}

static bool
all_zero(const char *bytes, size_t size)
{
    uint64_t sum = 0, word;
    for (size_t at = 0; at < size; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        sum |= word;
    }
    return sum == 0;
}

/* Makes the region zeros, unless it is free with the contents that it should have. */
static void
make_zero(void *object, uint8_t *mark, unsigned code)
{
    if (*mark == HEW_MARK_NEW) {
        memset(object, 0, hew_code_size(code));
        *mark = HEW_MARK_BACK;
    }
}

/* Fills an empty pool: from several slabs, if one has too few regions.  They are zeros from here on, so that a write to
 * one is noticed. */
static void
fill_pool(struct kept *own, struct hew_arena *arena, unsigned code)
{
    unsigned wanted = choice_of(code), count = 0, got;
    do {
        got = hew_bin_take(&arena->bins[code], &arena->pages, code, own->pool[code] + count, wanted - count);
        count += got;
    } while (got != 0 && count < wanted);
    for (unsigned i = 0; i < count; i++) {
        make_zero(own->pool[code][i], hew_mark_known((uintptr_t)own->pool[code][i]), code);
    }
    own->count[code] = count;
    hew_cache_self->real->apart += count * hew_code_size(code);
}

/* Swaps a region that is about to go out with a random one of the pool. */
static void *
choose(struct hew_arena *arena, void *object, unsigned code)
{
    struct kept *own = own_kept();
    if (own == NULL || arena == NULL || arena->manual) {
        return object;
    }
    if (own->count[code] == 0) {
        fill_pool(own, arena, code);
    }
    if (own->count[code] != 0) {
        void **at = &own->pool[code][(hew_random_next(&own->random) >> 32) * own->count[code] >> 32], *chosen = *at;
        *at = object;
        object = chosen;
    }
    return object;
}

static uint64_t *
word_of(const void *object, unsigned code)
{
    return (uint64_t *)((uintptr_t)object + hew_code_size(code) - HEW_HARDEN_WORD);
}

/* A region leaves for the program, with `full`: all zeros, and a tail. */
static void *
full_out(void *object, unsigned code, size_t size)
{
    uint8_t *mark = hew_mark_known((uintptr_t)object);
    if (*mark == HEW_MARK_BACK && HEW_UNLIKELY(!all_zero(object, hew_code_size(code)))) {
        hew_misuse(HEW_FATAL_written, "malloc", (uintptr_t)object, "the program wrote to it after that");
        *mark = HEW_MARK_NEW;
    }
    make_zero(object, mark, code);
    uint64_t *word = word_of(object, code);
    size_t filled = (uintptr_t)word - (uintptr_t)object - size;
    memset((char *)object + size, TAIL, filled);
    *word = hew_harden_canary(object) ^ filled;
    *mark = HEW_MARK_OUT;
    return object;
}

/* Bytes filled behind the requested ones; more than the region has when the word was overwritten. */
static size_t
filled_of(const void *object, unsigned code)
{
    return *word_of(object, code) ^ hew_harden_canary(object);
}

/* Whether the program has written neither to the tail nor to its word. */
static bool
tail_is_whole(const void *object, unsigned code)
{
    size_t filled = filled_of(object, code), most = hew_code_size(code) - HEW_HARDEN_WORD;
    const unsigned char *end = (const unsigned char *)word_of(object, code), *at = end - filled;
    if (filled > most) {
        return false;
    }
    while (at < end && *at == TAIL) {
        at++;
    }
    return at == end;
}

void *
hew_harden_out(struct hew_arena *arena, void *object, size_t size)
{
    unsigned code = object == NULL ? HEW_CODE_NONE : hew_map_code((uintptr_t)object);
    if (code == HEW_CODE_NONE || code > HEW_CODE_CACHED_LAST) {
        return object;
    }
    if (code > HEW_CODE_SMALL_LAST) {
        hew_map_extent((uintptr_t)object)->large.back = false;
        return object;
    }
    if (hew_harden_is_full()) {
        return full_out(choose(arena, object, code), code, size);
    }
    uint8_t *mark = hew_mark_known((uintptr_t)object);
    if (*mark == HEW_MARK_BACK && canaries) {
        return hew_harden_small_out(object, mark);
    }
    *mark = HEW_MARK_OUT;
    return object;
}

/* A large object of a cached class comes back.  False: a misuse. */
static HEW_NOINLINE bool
large_back(const char *function, void *object, unsigned code)
{
    struct hew_extent *extent = hew_map_extent((uintptr_t)object);
    if (HEW_UNLIKELY(!hew_extent_is_out(extent, (uintptr_t)object, code))) {
        hew_describe_bad_pointer(function, (uintptr_t)object);
        return false;
    }
    if (HEW_UNLIKELY(extent->large.back)) {
        hew_describe_double_free(function, (uintptr_t)object);
        return false;
    }
    extent->large.back = true;
    return true;
}

/* A region comes back.  False: a misuse. */
static bool
small_back(const char *function, void *object, unsigned code)
{
    uint8_t *mark = hew_harden_mark_of_out(object);
    if (mark == NULL) {
        hew_describe_bad_pointer(function, (uintptr_t)object);
        return false;
    }
    if (hew_harden_is_full() && HEW_UNLIKELY(!tail_is_whole(object, code))) {
        hew_misuse(HEW_FATAL_overflow, function, (uintptr_t)object, NULL);
        return false;
    }
    *mark = HEW_MARK_BACK;
    if (hew_harden_is_full()) {
        memset(object, 0, hew_code_size(code));
    } else if (canaries) {
        hew_harden_write_canary(object);
    }
    return true;
}

/* Whether the object, one without a class, waits. */
static bool
is_closed(const void *object)
{
    const struct hew_extent *extent = hew_map_extent((uintptr_t)object);
    return extent != NULL && extent->address == (uintptr_t)object && extent->code == HEW_CODE_SLOW &&
           extent->large.back;
}

bool
hew_harden_back(const char *function, void *object, unsigned code)
{
    if (code - 1 < HEW_CODE_SMALL_LAST) {
        return small_back(function, object, code);
    }
    if (code - 1 < HEW_CODE_CACHED_LAST) {
        return large_back(function, object, code);
    }
    if (HEW_UNLIKELY(code == HEW_CODE_SLOW && is_closed(object))) {
        hew_describe_double_free(function, (uintptr_t)object);
        return false;
    }
    return true; /* the caller checks others */
}

/* The oldest waiting object goes to the thread's cache. */
static void
release_oldest(struct kept *own, struct hew_cache *cache)
{
    void *object = own->ring[own->oldest];
    unsigned code = hew_map_code((uintptr_t)object);
    size_t size = hew_code_size(code);
    own->bytes -= size;
    own->oldest = (own->oldest + 1) % WAITING;
    own->waiting--;
    cache->apart -= size;
    hew_magazine_came_in(cache, code);
    hew_magazine_push(cache, code, object);
}

/* The pages that the program had. */
static size_t
pages_of(const struct hew_extent *extent)
{
    return extent->size - (extent->large.guarded ? hew_system_page : 0);
}

/* The oldest large object that waits can be allocated again. */
static void
release_oldest_closed(struct kept *own, struct hew_cache *cache)
{
    struct hew_extent *extent = own->closed_ring[own->oldest_closed];
    own->closed_bytes -= extent->large.usable;
    own->oldest_closed = (own->oldest_closed + 1) % CLOSED;
    own->closed--;
    cache->apart -= extent->large.usable;
    if (HEW_UNLIKELY(!hew_os_unfence((void *)extent->address, pages_of(extent)))) {
        hew_large_discard(extent);
    } else if (extent->code == HEW_CODE_SLOW) {
        extent->large.back = false;
        hew_large_give_back(extent);
    } else {
        hew_magazine_came_in(cache, extent->code);
        hew_magazine_push(cache, extent->code, (void *)extent->address);
    }
}

static bool
large_wait(struct kept *own, struct hew_extent *extent, unsigned code)
{
    struct hew_cache *cache = hew_cache_self->real;
    struct hew_page_heap *heap = hew_arena_at(extent->arena)->pages.heap;
    if (extent->large.sample != NULL || heap->hooks != NULL ||
        !hew_os_fence((void *)extent->address, pages_of(extent))) {
        return false;
    }
    size_t size = extent->large.usable;
    while (own->closed == CLOSED || (own->closed != 0 && own->closed_bytes + size > CLOSED_BYTES)) {
        release_oldest_closed(own, cache);
    }
    extent->large.back = true;
    own->closed_ring[(own->oldest_closed + own->closed++) % CLOSED] = extent;
    own->closed_bytes += size;
    cache->apart += size;
    if (code == HEW_CODE_SLOW) {
        cache->other_freed += size;
    } else {
        hew_magazine_set_apart(cache, code);
    }
    hew_count_operation(cache, 0, size);
    return true;
}

bool
hew_harden_wait(void *object, unsigned code)
{
    bool small = code - 1 < HEW_CODE_SMALL_LAST,
         large = !small && (code - 1 < HEW_CODE_CACHED_LAST || code == HEW_CODE_SLOW);
    struct hew_extent *extent = small || large ? hew_map_extent((uintptr_t)object) : NULL;
    struct kept *own = extent != NULL ? own_kept() : NULL;
    if (own == NULL || hew_arena_at(extent->arena)->manual) {
        return false;
    }
    if (large) {
        return extent->address == (uintptr_t)object && extent->code == code && large_wait(own, extent, code);
    }
    struct hew_cache *cache = hew_cache_self->real;
    size_t size = hew_code_size(code);
    while (own->waiting == WAITING || (own->waiting != 0 && own->bytes + size > WAITING_BYTES)) {
        release_oldest(own, cache);
    }
    own->ring[(own->oldest + own->waiting++) % WAITING] = object;
    own->bytes += size;
    cache->apart += size;
    hew_magazine_set_apart(cache, code);
    hew_count_operation(cache, 0, size);
    return true;
}

void
hew_harden_end(void)
{
    struct kept *own = kept;
    kept = NULL;
    if (own == NULL) {
        return;
    }
    while (own->waiting != 0) {
        release_oldest(own, hew_cache_self->real);
    }
    while (own->closed != 0) {
        release_oldest_closed(own, hew_cache_self->real);
    }
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        if (own->count[code] != 0) {
            hew_owner_give(code, own->pool[code], own->count[code]);
        }
    }
    hew_cache_self->real->apart = 0;
    hew_meta_give(own, sizeof *own);
}

size_t
hew_harden_usable(const char *function, const void *object, size_t usable)
{
    uintptr_t address = (uintptr_t)object;
    unsigned code = hew_map_code(address);
    bool small = code - 1 < HEW_CODE_SMALL_LAST, out = true;
    if (small) {
        const uint8_t *mark = hew_mark_at(address);
        if (mark == NULL) {
            hew_describe_and_end(function, address);
        }
        out = *mark == HEW_MARK_OUT;
    } else if (code != HEW_CODE_NONE && code <= HEW_CODE_CACHED_LAST) {
        const struct hew_extent *extent = hew_map_extent(address);
        out = extent == NULL || extent->address != address || !extent->large.back;
    } else if (code == HEW_CODE_SLOW) {
        out = !is_closed(object);
    }
    if (HEW_UNLIKELY(!out)) {
        hew_describe_free_and_end(function, address);
    }
    if (!small || !hew_harden_is_full()) {
        return usable;
    }
    size_t filled = filled_of(object, code), most = usable - HEW_HARDEN_WORD;
    return filled > most ? 0 : most - filled;
}

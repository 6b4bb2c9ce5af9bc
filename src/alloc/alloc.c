/* SPDX-License-Identifier: MIT */
#include "alloc/alloc.h"

#include "alloc/fill.h"
#include "alloc/large.h"
#include "base/options.h"
#include "base/text.h"
#include "cache/count.h"
#include "cache/magazine.h"
#include "cache/route.h"
#include "slab/describe.h"

#include <string.h>

struct hew_cache *
hew_alloc_own_cache(void)
{
    struct hew_cache *cache = hew_cache_self;
    return HEW_LIKELY(hew_cache_is_real(cache)) ? cache->real : hew_upcalls.start_thread();
}

/*
 * The same for a free.  A thread that has not allocated gets its cache only after some frees: libc frees thread data of
 * others when a thread is at its very end, and would never tell us to take the cache back.
 */
#define FREES_WITHOUT_CACHE 16
static __thread uint8_t frees_without_cache;

static struct hew_cache *
cache_for_free(void)
{
    if (!hew_cache_is_real(hew_cache_self) && frees_without_cache < FREES_WITHOUT_CACHE) {
        frees_without_cache++;
        return NULL;
    }
    return hew_alloc_own_cache();
}

/* Threads without a cache share the arenas that there are, by their stacks' addresses. */
static struct hew_arena *
shared_arena(void)
{
    uintptr_t spread = (uintptr_t)hew_thread_token() >> 12;
    unsigned index = (unsigned)(spread % hew_arena_limit());
    struct hew_arena *arena = hew_arena_at(index);
    return arena != NULL ? arena : hew_arena_get(0);
}

HEW_COLD void
hew_alloc_relieve(void)
{
    struct hew_cache *cache = hew_cache_self;
    hew_map_narrow();
    for (unsigned code = 1; hew_cache_is_real(cache) && code <= HEW_CODE_CACHED_LAST; code++) {
        hew_magazine_flush(cache->real, code, 0);
    }
    for (unsigned index = 0; index < HEW_ARENAS_MAX && hew_arena_at(index) != NULL; index++) {
        hew_page_release(&hew_arena_at(index)->pages);
    }
}

static void
notice_due_work(bool freeing)
{
    if (HEW_UNLIKELY(atomic_load_explicit(&hew_page_due, memory_order_relaxed) == 1)) {
        hew_upcalls.purge_due(freeing);
    }
}

static void *
take_small(struct hew_cache *cache, unsigned code)
{
    if (cache != NULL) {
        return hew_magazine_pop(cache, code);
    }
    void *object = NULL;
    struct hew_arena *arena = shared_arena();
    if (arena != NULL && hew_bin_take(&arena->bins[code], &arena->pages, code, &object, 1) == 1) {
        atomic_fetch_add_explicit(&arena->requests[code], 1, memory_order_relaxed);
    }
    return object;
}

/* Something is due in this thread, which has just been given `object`: a sampled one may take its place. */
static HEW_NOINLINE void *
attend_small(struct hew_cache *cache, unsigned code, size_t size, void *object)
{
    void *sampled = hew_upcalls.attend(cache, size, NULL);
    if (sampled == NULL) {
        return object;
    }
    hew_magazine_unpop(cache, code, object);
    return sampled;
}

void *
hew_alloc_small(size_t size)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    unsigned code = hew_small_codes[(size + 7) >> 3];
    void *object = take_small(cache, code);
    if (HEW_UNLIKELY(object == NULL)) {
        hew_alloc_relieve();
        object = take_small(cache, code);
    }
    if (HEW_UNLIKELY(cache != NULL && cache->due != 0 && object != NULL)) {
        object = attend_small(cache, code, size, object);
    }
    notice_due_work(false);
    size_t usable = object == NULL ? 0 : hew_code_size(code);
    hew_count_operation(cache, usable, 0);
    return hew_fill_new(object, usable);
}

/* An extent for a request above the small classes: the thread's own, or a new one. */
static struct hew_extent *
take_large(struct hew_cache *cache, size_t size, size_t alignment, bool *fresh)
{
    unsigned code = hew_large_code(size);
    bool counted = cache != NULL && code != HEW_CODE_SLOW && alignment <= HEW_PAGE;
    if (counted) {
        struct hew_extent *kept = hew_magazine_pop_large(cache, code);
        if (kept != NULL) {
            hew_arena_reuse_large(kept, hew_bits_round_up(size, HEW_PAGE));
            *fresh = false;
            return kept;
        }
    }
    struct hew_arena *arena = cache != NULL ? cache->arena : shared_arena();
    struct hew_extent *extent = arena == NULL ? NULL : hew_arena_take_large(arena, size, alignment, code);
    if (extent != NULL && !counted) {
        atomic_fetch_add_explicit(
            &arena->large[hew_large_index(extent->size)].nrequests, 1, memory_order_relaxed);
    }
    *fresh = extent != NULL && extent->zeroed;
    return extent;
}

struct hew_extent *
hew_alloc_sampled(struct hew_arena *arena, unsigned code, void *sample)
{
    struct hew_extent *extent = hew_arena_take_large(arena, HEW_GRAIN, HEW_GRAIN, HEW_CODE_SLOW);
    if (extent != NULL) {
        hew_arena_reuse_large(extent, hew_code_size(code));
        extent->large.sample = sample;
    }
    return extent;
}

void
hew_alloc_mark_sampled(struct hew_extent *large, void *sample)
{
    large->large.sample = sample;
    hew_page_recode(&hew_arena_at(large->arena)->pages, large, HEW_CODE_SLOW);
}

/* Counts a large request, and sees to what is due. */
static void
note_large(struct hew_cache *cache, size_t size, struct hew_extent *extent)
{
    if (cache == NULL) {
        return;
    }
    hew_count_other_allocated(cache, extent->large.usable);
    hew_count_operation(cache, extent->large.usable, 0);
    hew_magazine_watch(cache);
    if (hew_options.prof && cache->until_sample < 0) {
        cache->due |= HEW_DUE_SAMPLE;
    }
    if (HEW_UNLIKELY(cache->due != 0)) {
        hew_upcalls.attend(cache, size, extent);
    }
}

static void
forget_sample(struct hew_extent *extent)
{
    if (HEW_UNLIKELY(extent->large.sample != NULL)) {
        hew_upcalls.sample_freed(extent);
        extent->large.sample = NULL;
    }
}

void
hew_alloc_note_resized(struct hew_extent *extent, size_t freed, size_t size)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    forget_sample(extent);
    hew_count_other_freed(cache, freed);
    hew_count_operation(cache, 0, freed);
    note_large(cache, size, extent);
}

void
hew_alloc_note_moved(struct hew_extent *from, struct hew_extent *to, size_t size)
{
    forget_sample(from);
    hew_alloc_note_resized(to, from->large.usable, size);
}

static void *
alloc_large_aligned(size_t size, size_t alignment, bool zero)
{
    if (size > HEW_LARGE_MAX || alignment > HEW_LARGE_MAX) {
        return NULL;
    }
    bool fresh;
    struct hew_cache *cache = hew_alloc_own_cache();
    struct hew_extent *extent = take_large(cache, size, alignment, &fresh);
    if (HEW_UNLIKELY(extent == NULL)) {
        hew_alloc_relieve();
        extent = take_large(cache, size, alignment, &fresh);
    }
    notice_due_work(false);
    if (extent == NULL) {
        return NULL;
    }
    note_large(cache, size, extent);
    void *object = (void *)extent->address;
    if (zero) {
        return fresh ? object : memset(object, 0, size);
    }
    return hew_fill_new(object, extent->large.usable);
}

void *
hew_alloc_large(size_t size, bool zero)
{
    return alloc_large_aligned(size, HEW_PAGE, zero);
}

unsigned
hew_alloc_aligned_code(size_t size, size_t alignment)
{
    if (size > HEW_SMALL_MAX) {
        return 0;
    }
    /* Slabs begin at a grain, so a region is aligned to every power of two, up to a grain, that divides its size. */
    unsigned code = hew_code_of_size(size);
    while (code <= HEW_CODE_SMALL_LAST && (hew_code_size(code) & (alignment - 1)) != 0) {
        code++;
    }
    return code <= HEW_CODE_SMALL_LAST ? code : 0;
}

void *
hew_alloc_aligned(size_t size, size_t alignment, bool zero)
{
    unsigned code = hew_alloc_aligned_code(size, alignment);
    if (code == 0) {
        size_t least = size > HEW_SMALL_MAX ? size : HEW_SMALL_MAX + 1;
        return alloc_large_aligned(least, alignment < HEW_PAGE ? HEW_PAGE : alignment, zero);
    }
    void *object = hew_alloc_small(hew_code_size(code));
    return zero && object != NULL ? memset(object, 0, size) : object;
}

/* The live object that `object` is said to be: its slab, or its own extent.  Ends the process when it cannot be one. */
static struct hew_extent *
extent_of(const char *function, const void *object)
{
    uintptr_t address = (uintptr_t)object;
    struct hew_extent *extent = hew_map_code(address) == HEW_CODE_NONE ? NULL : hew_map_extent(address);
    bool right = extent != NULL && extent->state == HEW_EXTENT_ACTIVE &&
        (extent->code <= HEW_CODE_SMALL_LAST ? address - extent->address < extent->size : extent->address == address);
    if (HEW_UNLIKELY(!right)) {
        hew_describe_bad_pointer(function, address);
    }
    return extent;
}

/* Usable bytes of an object that the address map knows as slow, or not to be small. */
static size_t
usable_in(const struct hew_extent *extent)
{
    return extent->code <= HEW_CODE_SMALL_LAST ? hew_slab_shape(extent)->size : extent->large.usable;
}

/* Straight to the owner, past every cache.  `cache` only counts. */
static void
free_uncached(struct hew_cache *cache, const char *function, void *object)
{
    struct hew_extent *extent = extent_of(function, object);
    hew_count_other_freed(cache, usable_in(extent));
    if (extent->code <= HEW_CODE_SMALL_LAST) {
        hew_route_give(extent->code, &object, 1);
        return;
    }
    forget_sample(extent);
    hew_arena_give_large(extent);
}

void
hew_alloc_free(const char *function, void *object)
{
    if (object == NULL) {
        return;
    }
    unsigned code = hew_map_code((uintptr_t)object);
    struct hew_cache *cache = cache_for_free();
    if (HEW_UNLIKELY(hew_fill_wanted() || (cache != NULL && cache->live != NULL))) {
        size_t usable = hew_alloc_usable(function, object);
        hew_fill_freed(object, usable);
        hew_count_operation(cache, 0, usable);
    }
    if (cache == NULL || code == HEW_CODE_NONE || code == HEW_CODE_SLOW) {
        free_uncached(cache, function, object);
    } else if (HEW_UNLIKELY(cache->top[code][-1] == object)) {
        hew_describe_double_free(function, (uintptr_t)object);
    } else {
        hew_magazine_push(cache, code, object);
    }
    notice_due_work(true);
}

size_t
hew_alloc_usable(const char *function, const void *object)
{
    if (object == NULL) {
        return 0;
    }
    unsigned code = hew_map_code((uintptr_t)object);
    if (HEW_LIKELY(code != HEW_CODE_NONE && code <= HEW_CODE_SMALL_LAST)) {
        return hew_slab_shapes[code].size;
    }
    return usable_in(extent_of(function, object));
}

void
hew_alloc_check_size(const char *function, void *object, size_t size, size_t alignment)
{
    if (object == NULL) {
        return;
    }
    size_t usable = hew_alloc_usable(function, object), wanted;
    if (alignment != 0 && ((uintptr_t)object & (alignment - 1)) != 0) {
        hew_fatal(HEW_FATAL_wrong_alignment, function, (uintptr_t)object, NULL);
    }
    unsigned code = hew_alloc_aligned_code(size, alignment == 0 ? 1 : alignment);
    if (code != 0) {
        wanted = hew_code_size(code);
    } else {
        wanted = hew_bits_round_up(size > HEW_SMALL_MAX ? size : HEW_SMALL_MAX + 1, HEW_PAGE);
    }
    if (wanted != usable) {
        char words[128];
        struct hew_text text;
        hew_text_begin(&text, words, sizeof words);
        hew_text_put(&text, "said to be ");
        hew_text_put_unsigned(&text, size);
        hew_text_put(&text, " bytes, the object has room for ");
        hew_text_put_unsigned(&text, usable);
        hew_fatal(HEW_FATAL_wrong_size, function, (uintptr_t)object, words);
    }
}

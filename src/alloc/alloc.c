/* SPDX-License-Identifier: MIT */
/*
 * alloc: where the fast paths' rare cases arrive.  The usual ones come first and are short, as a full or empty
 * magazine is not rare at all in many programs; whatever is unusual about thread, object or settings is told apart
 * behind them.
 */
#include "alloc/alloc.h"

#include "alloc/aligned.h"
#include "alloc/fill.h"
#include "alloc/serve.h"
#include "base/options.h"
#include "base/text.h"
#include "cache/count.h"
#include "cache/depot.h"
#include "cache/magazine.h"
#include "cache/owner.h"
#include "page/hooks.h"
#include "slab/describe.h"

#include <string.h>

/*
 * The thread's cache for a free.  A thread that has not allocated gets its cache only after some frees: libc frees
 * thread data of others when a thread is at its very end, and would never tell us to take the cache back.
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

/* Whether a thread's cache serves it, and nothing has to be done to what it gets or frees. */
static bool
is_usual(const struct hew_cache *cache)
{
    return hew_cache_is_plain(cache) && HEW_LIKELY(!hew_fill_wanted());
}

void *
hew_alloc_small(size_t size)
{
    struct hew_cache *cache = hew_cache_self;
    unsigned code = hew_small_code(size);
    if (is_usual(cache) && HEW_LIKELY(hew_options.percpu_arena == HEW_PERCPU_ARENA_DISABLED)) {
        void *object = hew_magazine_pop(cache, code);
        if (HEW_LIKELY(object != NULL) && HEW_LIKELY(cache->due == 0)) {
            hew_alloc_notice_due_work(false);
            return object;
        }
        struct hew_source source = {.own = cache, .cache = cache, .arena = cache->arena};
        return hew_serve_finish(&source, code, size, object);
    }
    struct hew_source source = hew_serve_own();
    code = hew_small_code(size); /* the first call of all comes before the table is filled */
    void *object = hew_serve_class(&source, code, size);
    return hew_fill_new(object, object == NULL ? 0 : hew_code_size(code));
}

void *
hew_alloc_large(size_t size, bool zero)
{
    if (HEW_UNLIKELY(size > HEW_LARGE_MAX)) {
        return NULL; /* nothing below is made for it */
    }
    void *object = zero || size <= HEW_LARGE_CODES_MAX ? NULL : hew_serve_again(size);
    return object != NULL ? object : hew_alloc_aligned(size, HEW_PAGE, zero);
}

void *
hew_alloc_slow(size_t size)
{
    return size > HEW_SMALL_MAX ? hew_alloc_large(size, false) : hew_alloc_small(size);
}

void *
hew_alloc_aligned(size_t size, size_t alignment, bool zero)
{
    struct hew_source source = hew_serve_own();
    return hew_serve(&source, size, alignment, zero);
}

struct hew_extent *
hew_alloc_sampled(struct hew_arena *arena, unsigned code, void *sample)
{
    struct hew_extent *extent = hew_large_take(arena, HEW_GRAIN, HEW_GRAIN, HEW_CODE_SLOW);
    if (extent != NULL) {
        hew_large_set_usable(extent, hew_code_size(code));
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

static void
forget_sample(struct hew_extent *extent)
{
    if (HEW_UNLIKELY(extent->large.sample != NULL)) {
        hew_upcalls.sample_freed(extent);
        extent->large.sample = NULL;
    }
}

void *
hew_alloc_note_kept(void *object, size_t usable)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    if (cache != NULL) {
        cache->other_allocated += usable;
        cache->other_freed += usable;
        hew_count_operation(cache, usable, usable);
    }
    return object;
}

void
hew_alloc_note_resized(struct hew_extent *extent, size_t freed, size_t size)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    forget_sample(extent);
    hew_count_other_freed(cache, freed);
    hew_count_operation(cache, 0, freed);
    hew_serve_note_slow(cache, size, extent);
}

void
hew_alloc_note_moved(struct hew_extent *from, struct hew_extent *to, size_t size)
{
    forget_sample(from);
    hew_alloc_note_resized(to, from->large.usable, size);
}

/* The live object that `object` is said to be: its slab, or its own extent.  Ends the process when it cannot be one. */
static struct hew_extent *
extent_of(const char *function, const void *object)
{
    uintptr_t address = (uintptr_t)object;
    struct hew_extent *extent = hew_map_code(address) == HEW_CODE_NONE ? NULL : hew_map_extent(address);
    bool right =
        extent != NULL && extent->state == HEW_EXTENT_ACTIVE &&
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
    if (HEW_UNLIKELY(hew_alloc_is_of_pool(object))) {
        hew_upcalls.pool_free(function, object);
        return;
    }
    struct hew_extent *extent = extent_of(function, object);
    hew_count_other_freed(cache, usable_in(extent));
    if (extent->code <= HEW_CODE_SMALL_LAST) {
        hew_owner_give(extent->code, &object, 1);
        return;
    }
    forget_sample(extent);
    hew_large_give(extent);
}

static HEW_NOINLINE void
free_any(const char *function, void *object, unsigned code)
{
    struct hew_cache *cache = cache_for_free();
    if (HEW_UNLIKELY(hew_fill_wanted() || (cache != NULL && cache->live != NULL))) {
        size_t usable = hew_alloc_usable(function, object);
        hew_fill_freed(object, usable);
        hew_count_operation(cache, 0, usable);
    }
    if (cache == NULL || code == HEW_CODE_NONE || code >= HEW_CODE_POOL) {
        free_uncached(cache, function, object);
    } else if (HEW_UNLIKELY(cache->top[code][-1] == object)) {
        hew_describe_double_free(function, (uintptr_t)object);
    } else {
        hew_magazine_push(cache, code, object);
    }
    hew_alloc_notice_due_work(true);
}

/* A large object without a class, in the usual case: straight to where the next one of its size is looked for. */
static HEW_NOINLINE void
free_unclassed(const char *function, void *object)
{
    struct hew_cache *cache = hew_cache_self;
    struct hew_extent *extent = hew_map_extent((uintptr_t)object);
    if (!hew_cache_is_plain(cache) || hew_fill_wanted() || extent == NULL || extent->address != (uintptr_t)object ||
        extent->code != HEW_CODE_SLOW || extent->large.sample != NULL) {
        free_any(function, object, HEW_CODE_SLOW);
        return;
    }
    cache->other_freed += extent->large.usable;
    if (!hew_large_keep(extent)) {
        hew_large_give_back(extent);
    }
    hew_alloc_notice_due_work(true);
}

void
hew_alloc_free(const char *function, void *object)
{
    if (object == NULL) {
        return;
    }
    unsigned code = hew_map_code((uintptr_t)object);
    if (code == HEW_CODE_SLOW) {
        free_unclassed(function, object);
        return;
    }
    struct hew_cache *cache = hew_cache_self;
    if (code != HEW_CODE_NONE && code <= HEW_CODE_CACHED_LAST && is_usual(cache) && cache->top[code][-1] != object) {
        hew_magazine_push(cache, code, object);
        hew_alloc_notice_due_work(true);
        return;
    }
    free_any(function, object, code);
}

void
hew_alloc_free_into(const char *function, void *object, struct hew_cache *explicit)
{
    if (object == NULL) {
        return;
    }
    struct hew_cache *own = cache_for_free();
    if (hew_alloc_is_of_pool(object)) {
        free_uncached(own, function, object);
        return;
    }
    struct hew_extent *extent = extent_of(function, object);
    unsigned code = extent->code;
    hew_fill_freed(object, usable_in(extent));
    hew_count_operation(own, 0, usable_in(extent));
    if (explicit == NULL || code == HEW_CODE_SLOW) {
        free_uncached(own, function, object);
    } else if (HEW_UNLIKELY(explicit->top[code][-1] == object)) {
        hew_describe_double_free(function, (uintptr_t)object);
    } else {
        hew_count_other_freed(own, usable_in(extent));
        hew_magazine_push(explicit, code, object);
    }
    hew_alloc_notice_due_work(true);
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
    return HEW_UNLIKELY(code == HEW_CODE_POOL) ? hew_upcalls.pool_usable(function, object)
                                               : usable_in(extent_of(function, object));
}

void
hew_alloc_check_kept(const char *function, const void *object)
{
    const struct hew_cache *cache = hew_cache_is_real(hew_cache_self) ? hew_cache_self->real : NULL;
    unsigned code = hew_map_code((uintptr_t)object);
    if (cache == NULL || code > HEW_CODE_CACHED_LAST) {
        return;
    }
    size_t looks = hew_cache_depth(cache, code);
    looks = code <= HEW_CODE_SMALL_LAST && looks > 1 ? 1 : looks;
    for (void *const *at = cache->top[code]; looks > 0; looks--) {
        if (*--at == object) {
            hew_describe_free(function, (uintptr_t)object);
        }
    }
    if (cache->base[code] == NULL && code <= HEW_CODE_SMALL_LAST && hew_depot_newest_is(cache->depot, code, object)) {
        hew_describe_free(function, (uintptr_t)object);
    }
}

/* Whether an object may have been asked for with `size`: a pool's size is any that holds it. */
static bool
is_size(const void *object, size_t usable, size_t size, size_t alignment)
{
    return hew_alloc_is_of_pool(object) ? size <= usable
                                        : hew_aligned_is_usable(usable, size, alignment == 0 ? 1 : alignment);
}

void
hew_alloc_check_size(const char *function, void *object, size_t size, size_t alignment)
{
    if (object == NULL) {
        return;
    }
    size_t usable = hew_alloc_usable(function, object);
    if (alignment != 0 && ((uintptr_t)object & (alignment - 1)) != 0) {
        hew_fatal(HEW_FATAL_wrong_alignment, function, (uintptr_t)object, NULL);
    }
    if (!is_size(object, usable, size, alignment)) {
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

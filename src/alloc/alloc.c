/* SPDX-License-Identifier: MIT */
#include "alloc/alloc.h"

#include "alloc/fill.h"
#include "alloc/large.h"
#include "base/options.h"
#include "base/text.h"
#include "cache/magazine.h"
#include "cache/route.h"
#include "slab/describe.h"

#include <string.h>

/* The calling thread's cache, made if need be; NULL when it can have none. */
static struct hew_cache *
own_cache(void)
{
    struct hew_cache *cache = hew_cache_self;
    return HEW_LIKELY(hew_cache_is_real(cache)) ? cache : hew_upcalls.start_thread();
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
    return own_cache();
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
        hew_magazine_flush(cache, code, 0);
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
    if (arena != NULL) {
        hew_bin_take(&arena->bins[code], &arena->pages, code, &object, 1);
    }
    return object;
}

void *
hew_alloc_small(size_t size)
{
    struct hew_cache *cache = own_cache();
    unsigned code = hew_small_codes[(size + 7) >> 3];
    void *object = take_small(cache, code);
    if (HEW_UNLIKELY(object == NULL)) {
        hew_alloc_relieve();
        object = take_small(cache, code);
    }
    notice_due_work(false);
    return hew_fill_new(object, object == NULL ? 0 : hew_code_size(code));
}

/* An extent for a request above the small classes: the thread's own, or a new one. */
static struct hew_extent *
take_large(size_t size, size_t alignment, bool *fresh)
{
    struct hew_cache *cache = own_cache();
    unsigned code = hew_large_code(size);
    if (cache != NULL && code != HEW_CODE_SLOW && alignment <= HEW_PAGE) {
        struct hew_extent *kept = hew_magazine_pop_large(cache, code);
        if (kept != NULL) {
            kept->large.usable = hew_bits_round_up(size, HEW_PAGE);
            *fresh = false;
            return kept;
        }
    }
    struct hew_arena *arena = cache != NULL ? cache->arena : shared_arena();
    struct hew_extent *extent = arena == NULL ? NULL : hew_arena_take_large(arena, size, alignment, code);
    *fresh = extent != NULL && extent->zeroed;
    return extent;
}

static void *
alloc_large_aligned(size_t size, size_t alignment, bool zero)
{
    if (size > HEW_LARGE_MAX || alignment > HEW_LARGE_MAX) {
        return NULL;
    }
    bool fresh;
    struct hew_extent *extent = take_large(size, alignment, &fresh);
    if (HEW_UNLIKELY(extent == NULL)) {
        hew_alloc_relieve();
        extent = take_large(size, alignment, &fresh);
    }
    notice_due_work(false);
    if (extent == NULL) {
        return NULL;
    }
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

static void
free_uncached(const char *function, void *object, unsigned code)
{
    struct hew_extent *extent = hew_map_extent((uintptr_t)object);
    bool right = extent != NULL && extent->code == code && extent->state == HEW_EXTENT_ACTIVE &&
        (code <= HEW_CODE_SMALL_LAST || extent->address == (uintptr_t)object);
    if (code == HEW_CODE_NONE || !right) {
        hew_describe_bad_pointer(function, (uintptr_t)object);
    }
    if (code == HEW_CODE_SLOW) {
        hew_arena_give_large(extent);
    } else {
        hew_route_give(code, &object, 1);
    }
}

void
hew_alloc_free(const char *function, void *object)
{
    if (object == NULL) {
        return;
    }
    unsigned code = hew_map_code((uintptr_t)object);
    if (hew_fill_wanted()) {
        hew_fill_freed(object, hew_alloc_usable(function, object));
    }
    bool cached = code != HEW_CODE_NONE && code <= HEW_CODE_CACHED_LAST;
    struct hew_cache *cache = cached ? cache_for_free() : NULL;
    if (cache == NULL) {
        free_uncached(function, object, code);
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
    struct hew_extent *extent = hew_map_extent((uintptr_t)object);
    if (code == HEW_CODE_NONE || extent == NULL || extent->address != (uintptr_t)object ||
        extent->state != HEW_EXTENT_ACTIVE) {
        hew_describe_bad_pointer(function, (uintptr_t)object);
    }
    return extent->large.usable;
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

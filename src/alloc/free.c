/* SPDX-License-Identifier: MIT */
/*
 * free: handles every free that the fast path did not take, and queries about an object.  The usual case comes first
 * and is short, because a full magazine is common in many programs.  The unusual cases of thread, object or settings
 * follow.
 */
#include "alloc/alloc.h"

#include "alloc/aligned.h"
#include "alloc/fill.h"
#include "alloc/foreign.h"
#include "alloc/harden.h"
#include "alloc/request.h"
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
 * Returns the thread's cache for a free.  A thread that has never allocated gets a cache only after some frees: libc
 * frees data of other threads at the very end of a thread, and would never give us a chance to take the cache back.
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

/* Returns the extent of a live object: its slab, or its own extent.  Reports misuse and returns NULL if the address
 * cannot be a live object. */
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
        return NULL;
    }
    return extent;
}

/* Returns the usable bytes of an object in this extent. */
static size_t
usable_in(const struct hew_extent *extent)
{
    return extent->code <= HEW_CODE_SMALL_LAST ? hew_slab_shape(extent)->size : extent->large.usable;
}

/* Returns the usable bytes of an object, or 0 for NULL.  Reports misuse if no object can be there. */
static HEW_NOINLINE size_t
usable_of(const char *function, const void *object)
{
    if (object == NULL) {
        return 0;
    }
    unsigned code = hew_map_code((uintptr_t)object);
    if (HEW_LIKELY(code != HEW_CODE_NONE && code <= HEW_CODE_SMALL_LAST)) {
        return hew_slab_shapes[code].size;
    }
    if (HEW_UNLIKELY(code == HEW_CODE_POOL)) {
        return hew_upcalls.pool_usable(function, object);
    }
    if (HEW_UNLIKELY(code == HEW_CODE_GUARD)) {
        return hew_upcalls.guard_usable(function, object);
    }
    const struct hew_extent *extent = extent_of(function, object);
    return extent == NULL ? 0 : usable_in(extent);
}

/* Frees an object that a higher layer owns. */
static HEW_COLD HEW_NOINLINE void
free_apart(struct hew_cache *cache, const char *function, void *object)
{
    if (hew_map_code((uintptr_t)object) == HEW_CODE_POOL) {
        hew_upcalls.pool_free(function, object);
        return;
    }
    size_t usable = hew_upcalls.guard_free(function, object);
    hew_count_other_freed(cache, usable);
    hew_count_operation(cache, 0, usable);
}

/* Frees directly to the owner, without a cache.  `cache` only counts. */
static void
free_uncached(struct hew_cache *cache, const char *function, void *object)
{
    if (HEW_UNLIKELY(hew_alloc_is_apart(object))) {
        free_apart(cache, function, object);
        return;
    }
    struct hew_extent *extent = extent_of(function, object);
    if (extent == NULL) {
        return;
    }
    hew_count_other_freed(cache, usable_in(extent));
    if (extent->code <= HEW_CODE_SMALL_LAST) {
        hew_owner_give(extent->code, &object, 1);
        return;
    }
    hew_alloc_forget_sample(extent);
    hew_large_give(extent);
}

/* Pushes onto the magazine of a class, unless the object is the one that was freed last. */
HEW_INLINE void
free_cached(struct hew_cache *cache, const char *function, void *object, unsigned code)
{
    if (HEW_UNLIKELY(hew_cache_newest_is(cache, code, object))) {
        hew_describe_double_free(function, (uintptr_t)object);
        return;
    }
    hew_magazine_push(cache, code, object);
}

static HEW_NOINLINE void
free_any(const char *function, void *object, unsigned code)
{
    if (object == NULL) {
        return;
    }
    if (hew_foreign_is(object, code)) {
        hew_foreign_free(object);
        return;
    }
    if (hew_marks_wanted()) {
        if (!hew_harden_back(function, object, code)) {
            return;
        }
        if (hew_harden_is_full() && hew_harden_wait(object, code)) {
            hew_alloc_notice_due_work(true);
            return;
        }
    }
    struct hew_cache *cache = cache_for_free();
    if (HEW_UNLIKELY(code == HEW_CODE_GUARD)) {
        free_apart(cache, function, object);
        return;
    }
    if (HEW_UNLIKELY(hew_fill_wanted() || (cache != NULL && cache->live != NULL))) {
        size_t usable = usable_of(function, object);
        hew_fill_freed(object, usable);
        hew_count_operation(cache, 0, usable);
    }
    if (cache == NULL || code == HEW_CODE_NONE || code >= HEW_CODE_POOL) {
        free_uncached(cache, function, object);
    } else {
        free_cached(cache, function, object, code);
    }
    hew_alloc_notice_due_work(true);
}

/* Frees a large object without a class.  In the usual case it goes directly to the place where the next request of its
 * size looks. */
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

/* Frees with hardening:check or full. */
static HEW_NOINLINE void
free_marked(const char *function, void *object)
{
    unsigned code = hew_map_code((uintptr_t)object);
    if (HEW_UNLIKELY(!hew_harden_give(object, code))) {
        free_any(function, object, code);
    }
}

void
hew_alloc_free(const char *function, void *object)
{
    if (hew_marks_wanted()) {
        free_marked(function, object);
        return;
    }
    unsigned code = hew_map_code((uintptr_t)object); /* of NULL: HEW_CODE_NONE */
    if (code == HEW_CODE_SLOW) {
        free_unclassed(function, object);
        return;
    }
    struct hew_cache *cache = hew_cache_self;
    if (code != HEW_CODE_NONE && code <= HEW_CODE_CACHED_LAST && hew_alloc_is_usual(cache)) {
        free_cached(cache, function, object, code);
        hew_alloc_notice_due_work(true);
    } else {
        free_any(function, object, code);
    }
}

void
hew_alloc_free_into(const char *function, void *object, struct hew_cache *explicit)
{
    if (object == NULL) {
        return;
    }
    if (hew_foreign_is(object, hew_map_code((uintptr_t)object))) {
        hew_foreign_free(object);
        return;
    }
    struct hew_cache *own = cache_for_free();
    if (hew_alloc_is_apart(object)) {
        free_uncached(own, function, object);
        return;
    }
    struct hew_extent *extent = extent_of(function, object);
    if (extent == NULL) {
        return;
    }
    unsigned code = extent->code;
    if (hew_marks_wanted() && !hew_harden_back(function, object, hew_map_code((uintptr_t)object))) {
        return;
    }
    hew_fill_freed(object, usable_in(extent));
    hew_count_operation(own, 0, usable_in(extent));
    if (explicit == NULL || code == HEW_CODE_SLOW) {
        free_uncached(own, function, object);
    } else {
        hew_count_other_freed(own, usable_in(extent));
        free_cached(explicit, function, object, code);
    }
    hew_alloc_notice_due_work(true);
}

size_t
hew_alloc_usable(const char *function, const void *object)
{
    if (hew_foreign_is(object, hew_map_code((uintptr_t)object))) {
        return hew_foreign_usable(object);
    }
    size_t usable = usable_of(function, object);
    return hew_marks_wanted() && object != NULL ? hew_harden_usable(function, object, usable) : usable;
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
            hew_describe_free_and_end(function, (uintptr_t)object);
        }
    }
    if (cache->classes[code].base == NULL && code <= HEW_CODE_SMALL_LAST &&
        hew_depot_newest_is(cache->depot, code, object)) {
        hew_describe_free_and_end(function, (uintptr_t)object);
    }
}

/* Returns whether an object may have been requested with `size`.  A pool's object, or a guarded one, may have been requested
 * with any size that it holds. */
static bool
is_size(const void *object, size_t usable, size_t size, size_t alignment)
{
    size_t at = alignment == 0 ? 1 : alignment;
    if (hew_alloc_is_apart(object)) {
        return size <= usable;
    }
    bool tailed = hew_harden_is_full() && hew_aligned_is_usable(usable, size + hew_harden_extra(size), at);
    return tailed || hew_aligned_is_usable(usable, size, at);
}

bool
hew_alloc_is_sized(const char *function, void *object, size_t size, size_t alignment)
{
    if (object == NULL || hew_foreign_is(object, hew_map_code((uintptr_t)object))) {
        return true;
    }
    size_t usable = usable_of(function, object);
    if (alignment != 0 && ((uintptr_t)object & (alignment - 1)) != 0) {
        hew_misuse(HEW_FATAL_wrong_alignment, function, (uintptr_t)object, NULL);
        return false;
    }
    if (!is_size(object, usable, size, alignment)) {
        char words[128];
        struct hew_text text;
        hew_text_begin(&text, words, sizeof words);
        hew_text_put(&text, "said to be ");
        hew_text_put_unsigned(&text, size);
        hew_text_put(&text, " bytes, the object has room for ");
        hew_text_put_unsigned(&text, usable);
        hew_misuse(HEW_FATAL_wrong_size, function, (uintptr_t)object, words);
        return false;
    }
    return true;
}

/* SPDX-License-Identifier: MIT */
/*
 * request: handles every request that the fast path did not serve.  The usual case comes first and is short, because an
 * empty magazine is common in many programs.  All unusual cases of thread, size or settings take one path after it, so
 * that counting, sampling and the retry after a refusal are written once.
 */
#include "alloc/request.h"

#include "alloc/aligned.h"
#include "alloc/fast.h"
#include "alloc/fill.h"
#include "alloc/harden.h"
#include "base/bytes.h"
#include "cache/count.h"
#include "cache/depot.h"
#include "cache/magazine.h"
#include "cache/owner.h"
#include "cache/thread.h"
#include "meta/map.h"
#include "os/process.h"
#include "page/hooks.h"

#include <string.h>

/* Threads without a cache share the existing arenas, chosen by the address of the thread's data. */
static struct hew_arena *
shared_arena(void)
{
    if (HEW_UNLIKELY(hew_hooks_depth != 0)) {
        return hew_arena_without_hooks();
    }
    uintptr_t spread = (uintptr_t)hew_thread_token() >> 12;
    unsigned index = (unsigned)(spread % hew_arena_limit());
    struct hew_arena *arena = hew_arena_at(index);
    return arena != NULL ? arena : hew_arena_get(0);
}

struct hew_source
hew_request_own(void)
{
    struct hew_cache *own = hew_alloc_own_cache();
    if (HEW_UNLIKELY(hew_options.percpu_arena != HEW_PERCPU_ARENA_DISABLED) && own != NULL) {
        hew_thread_follow_cpu(own);
    }
    return (struct hew_source){.own = own, .cache = own, .arena = own != NULL ? own->arena : shared_arena()};
}

HEW_COLD void
hew_request_relieve(void)
{
    hew_map_narrow(hew_os_address_space_limit());
    hew_pressure_empty_caches();
    HEW_EACH_ARENA(arena)
    {
        hew_arena_trim(arena);
    }
    HEW_EACH_PAGE_OWNER(arena)
    {
        hew_page_release(arena->pages.heap);
    }
    if (hew_page_is_bounded()) { /* corrects the counted bytes before the limit refuses again */
        hew_pressure_look(0);
    }
}

/* Returns true if the per-class counts of the thread's own cache include objects from this source. */
static bool
counted_by_class(const struct hew_source *source)
{
    return source->cache == source->own;
}

/* Counts by bytes what the thread's own cache does not count by class. */
static void
count_bytes(const struct hew_source *source, size_t usable)
{
    struct hew_cache *own = source->own;
    hew_count_other_allocated(own, usable);
    hew_magazine_watch(own);
    if (hew_options.prof && own->until_sample < 0) {
        own->due |= HEW_DUE_SAMPLE;
        own->due_code = HEW_CODE_NONE;
    }
}

/* Some work is due in this thread, which is about to get `object`.  A sampled object may replace a small one.  A large
 * one is sampled itself. */
static HEW_NOINLINE void *
request_attend(const struct hew_source *source, unsigned code, size_t size, void *object)
{
    struct hew_extent *large = code > HEW_CODE_SMALL_LAST ? hew_map_extent((uintptr_t)object) : NULL;
    void *sampled = hew_upcalls.attend(source->own, source->arena, code, size, large);
    if (sampled == NULL || large != NULL) {
        return object;
    }
    if (counted_by_class(source)) {
        if (!hew_options.prof_slabs || !hew_upcalls.keep_place(sampled, code, object)) {
            hew_magazine_unpop(source->own, code, object);
        }
    } else {
        hew_owner_give(code, &object, 1);
    }
    return sampled;
}

/* Returns the arena for a large object of `size` bytes.  The largest requests to a thread's own arena may have a
 * separate arena. */
static struct hew_arena *
arena_for_large(const struct hew_source *source, size_t size)
{
    bool own = source->own != NULL && source->arena == source->own->arena;
    return own ? hew_arena_for_large(source->arena, size) : source->arena;
}

/* Allocates without a cache. */
static void *
take_from_arena(const struct hew_source *source, unsigned code)
{
    struct hew_arena *arena = source->arena;
    void *object = NULL;
    unsigned taken;
    if (code <= HEW_CODE_SMALL_LAST) {
        taken = hew_bin_take(&arena->bins[code], &arena->pages, code, &object, 1);
    } else {
        arena = arena_for_large(source, hew_code_size(code));
        taken = hew_large_take_some(arena, code, &object, 1);
    }
    if (taken == 1) {
        atomic_fetch_add_explicit(&arena->requests[code], 1, memory_order_relaxed);
    }
    return object;
}

/* An explicit cache serves threads of several arenas.  It is refilled from the arena of the thread that finds it
 * empty. */
static HEW_NOINLINE void *
take_from_explicit(struct hew_cache *cache, struct hew_arena *arena, unsigned code)
{
    struct hew_arena *home = cache->arena;
    cache->arena = arena;
    void *object = hew_magazine_pop(cache, code);
    cache->arena = home;
    cache->due = 0; /* the thread's own cache records due work */
    return object;
}

static void *
request_take(const struct hew_source *source, unsigned code)
{
    if (HEW_UNLIKELY(source->arena == NULL)) {
        return NULL;
    }
    if (HEW_UNLIKELY(source->cache == NULL)) {
        return take_from_arena(source, code);
    }
    if (HEW_LIKELY(counted_by_class(source))) {
        return hew_magazine_pop(source->cache, code);
    }
    return take_from_explicit(source->cache, source->arena, code);
}

void *
hew_request_class(const struct hew_source *source, unsigned code, size_t size)
{
    void *object = hew_request_finish(source, code, size, request_take(source, code));
    return hew_marks_wanted() ? hew_harden_out(source->arena, object, size) : object;
}

void *
hew_request_finish(const struct hew_source *source, unsigned code, size_t size, void *object)
{
    struct hew_cache *own = source->own;
    size_t usable = hew_slab_shapes[code].size;
    if (HEW_UNLIKELY(object == NULL)) {
        hew_request_relieve();
        object = request_take(source, code);
    }
    if (HEW_LIKELY(own != NULL && object != NULL)) {
        if (HEW_UNLIKELY(!counted_by_class(source))) {
            count_bytes(source, usable);
        }
        if (HEW_UNLIKELY(own->due != 0)) {
            object = request_attend(source, code, size, object);
        }
        hew_count_operation(own, usable, 0);
    }
    hew_alloc_notice_due_work(false);
    return object;
}

void
hew_request_note_slow(struct hew_cache *cache, size_t size, struct hew_extent *extent)
{
    if (cache == NULL) {
        return;
    }
    hew_count_other_allocated(cache, extent->large.usable);
    hew_count_operation(cache, extent->large.usable, 0);
    hew_magazine_watch(cache);
    if (hew_options.prof && cache->until_sample < 0) {
        cache->due |= HEW_DUE_SAMPLE;
        cache->due_code = HEW_CODE_NONE;
    }
    if (HEW_UNLIKELY(cache->due != 0)) {
        hew_upcalls.attend(cache, hew_arena_at(extent->arena), extent->code, size, extent);
    }
}

static HEW_NOINLINE struct hew_extent *
reuse(struct hew_arena *arena, size_t size)
{
    return hew_large_reuse(arena, size);
}

void *
hew_request_reuse(size_t size)
{
    struct hew_cache *cache = hew_cache_self;
    if (!hew_cache_is_plain(cache) || hew_fill_wanted() ||
        size >= atomic_load_explicit(&cache->arena->oversize_threshold, memory_order_relaxed)) {
        return NULL;
    }
    unsigned code = hew_large_code(size);
    if (code != HEW_CODE_SLOW) {
        return hew_fast_take_class(cache, code);
    }
    struct hew_extent *extent = hew_large_reuse(cache->arena, size);
    if (extent == NULL) {
        return NULL;
    }
    if (HEW_LIKELY(!hew_options.prof && atomic_load_explicit(&hew_cache_step, memory_order_relaxed) == 0)) {
        hew_count_other_allocated(cache, extent->large.usable);
    } else {
        hew_request_note_slow(cache, size, extent);
    }
    return (void *)extent->address;
}

/* A small request can become a large object because of its alignment. */
static size_t
room_of(size_t size)
{
    return size > HEW_SMALL_MAX ? size : HEW_SMALL_MAX + 1;
}

/* Returns true if the system should zero an object that is not zero already. */
static bool
zeroed_by_system(size_t usable)
{
    return usable >= hew_options.calloc_madvise_threshold;
}

static struct hew_extent *
take_slow(const struct hew_source *source, size_t asked, size_t alignment, bool zero)
{
    size_t size = room_of(asked);
    struct hew_arena *arena = arena_for_large(source, size);
    unsigned code = hew_large_code(size);
    struct hew_extent *extent = NULL;
    if (arena == NULL) {
        return NULL;
    }
    if (code == HEW_CODE_SLOW && alignment <= HEW_PAGE && (extent = reuse(arena, size)) != NULL) {
        return extent;
    }
    size_t at = alignment < HEW_PAGE ? HEW_PAGE : alignment;
    extent = zero && zeroed_by_system(size) ? hew_large_take(arena, size, at, code)
                                            : hew_large_take_warm(arena, size, at, code);
    if (extent != NULL) {
        atomic_fetch_add_explicit(&arena->large[hew_large_index(extent->size)].nrequests, 1, memory_order_relaxed);
    }
    return extent;
}

/* Allocates an object that no cache can hold: one without a class, or with an alignment. */
static void *
request_slow(const struct hew_source *source, size_t size, size_t alignment, bool zero)
{
    hew_pressure_before(size);
    struct hew_extent *extent = take_slow(source, size, alignment, zero);
    if (HEW_UNLIKELY(extent == NULL)) {
        hew_request_relieve();
        extent = take_slow(source, size, alignment, zero);
    }
    if (extent != NULL) {
        hew_request_note_slow(source->own, size, extent);
    }
    hew_alloc_notice_due_work(false);
    return extent == NULL ? NULL : (void *)extent->address;
}

/* A large object is about to be used.  Fills it with zeros or junk, if required. */
static void *
finish_large(void *object, bool zero)
{
    struct hew_extent *extent = hew_map_extent((uintptr_t)object);
    size_t usable = extent->large.usable, stale = extent->size - extent->large.fresh;
    bool zeroed = extent->zeroed;
    extent->large.fresh = 0;
    extent->zeroed = false; /* unknown from now on */
    if (!zero) {
        return hew_fill_new(object, usable);
    }
    zeroed = zeroed || (zeroed_by_system(usable) && hew_page_zero(hew_arena_at(extent->arena)->pages.heap, extent));
    return zeroed ? object : hew_bytes_zero(object, stale < usable ? stale : usable);
}

static void *
request_large(const struct hew_source *source, size_t size, size_t alignment, bool zero)
{
    unsigned code = hew_large_code(room_of(size));
    void *object = code != HEW_CODE_SLOW && alignment <= HEW_PAGE ? hew_request_class(source, code, size)
                                                                  : request_slow(source, size, alignment, zero);
    return object == NULL ? NULL : finish_large(object, zero);
}

void *
hew_request(const struct hew_source *source, size_t size, size_t alignment, bool zero)
{
    if (HEW_UNLIKELY(size > HEW_LARGE_MAX || alignment > HEW_LARGE_MAX)) {
        return NULL; /* larger than the layers below support */
    }
    size_t with_tail = size + hew_harden_extra(size);
    unsigned code = hew_aligned_code(with_tail, alignment);
    if (code == HEW_CODE_NONE) {
        return request_large(source, with_tail, alignment, zero);
    }
    void *object = hew_request_class(source, code, size);
    if (hew_harden_is_full() && object != NULL && hew_map_code((uintptr_t)object) == code) {
        return object; /* all zeros, and a tail; not so one that the profiler put in its place */
    }
    size_t usable = object == NULL ? 0 : hew_slab_shapes[code].size;
    return zero && object != NULL ? hew_bytes_zero(object, usable) : hew_fill_new(object, usable);
}

void *
hew_alloc_small(size_t size)
{
    struct hew_cache *cache = hew_cache_self;
    unsigned code = hew_small_code(size);
    hew_size_class_ask(code, size);
    if (hew_alloc_is_usual(cache) && HEW_LIKELY(hew_options.percpu_arena == HEW_PERCPU_ARENA_DISABLED)) {
        void *object = hew_magazine_pop(cache, code);
        if (HEW_LIKELY(object != NULL) && HEW_LIKELY(cache->due == 0)) {
            hew_alloc_notice_due_work(false);
            return object;
        }
        struct hew_source source = {.own = cache, .cache = cache, .arena = cache->arena};
        return hew_request_finish(&source, code, size, object);
    }
    struct hew_source source = hew_request_own();
    if (hew_harden_is_full()) {
        return hew_request(&source, size, 1, false);
    }
    code = hew_small_code(size); /* the very first call comes before the table is filled */
    void *object = hew_request_class(&source, code, size);
    return hew_fill_new(object, object == NULL ? 0 : hew_code_size(code));
}

void *
hew_alloc_large(size_t size, bool zero)
{
    if (HEW_UNLIKELY(size > HEW_LARGE_MAX)) {
        return NULL; /* larger than the layers below support */
    }
    void *object = zero || size <= HEW_LARGE_CODES_MAX ? NULL : hew_request_reuse(size);
    return object != NULL ? object : hew_alloc_aligned(size, HEW_PAGE, zero);
}

void *
hew_alloc_slow(size_t size)
{
    return size > HEW_SMALL_MAX ? hew_alloc_large(size, false) : hew_alloc_small(size);
}

/* Handles what hew_fast_take_aligned() skips if the classes are the program's own. */
static HEW_COLD void *
take_of_own_class(size_t size, size_t alignment)
{
    unsigned code = hew_aligned_code(size, alignment);
    return code == HEW_CODE_NONE ? NULL : hew_cache_pop(hew_cache_self, code);
}

void *
hew_alloc_aligned(size_t size, size_t alignment, bool zero)
{
    void *object =
        HEW_UNLIKELY(hew_is_booted() && hew_classes_are_own) && !zero ? take_of_own_class(size, alignment) : NULL;
    if (object != NULL) {
        return object;
    }
    struct hew_source source = hew_request_own();
    return hew_request(&source, size, alignment, zero);
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
    hew_page_recode(hew_arena_at(large->arena)->pages.heap, large, HEW_CODE_SLOW);
}

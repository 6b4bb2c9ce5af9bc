/* SPDX-License-Identifier: MIT */
/*
 * realloc: uses the cheapest way that keeps the contents.  It tries, in this order: no change, resizing in place,
 * moving pages, copying.  A copy of a large object costs more than any other step here.
 */
#include "alloc/realloc.h"

#include "alloc/aligned.h"
#include "alloc/alloc.h"
#include "alloc/fast.h"
#include "alloc/fill.h"
#include "alloc/foreign.h"
#include "alloc/harden.h"
#include "alloc/request.h"
#include "base/bytes.h"
#include "cache/count.h"
#include "page/move.h"

#include <string.h>

/* From this size on, moving pages (two system calls and some 10 ns per page) is faster than copying them. */
#define MOVE_BYTES ((size_t)512 << 10)

/* realloc has left an object of `usable` bytes unchanged.  That counts as one free and one allocation. */
static void *
note_kept(void *object, size_t usable)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    if (cache != NULL) {
        cache->other_allocated += usable;
        cache->other_freed += usable;
        hew_count_operation(cache, usable, usable);
    }
    return object;
}

/* A large object of `freed` usable bytes was resized in place, or its pages were moved to another extent.  It is
 * counted and sampled as one free and one allocation. */
static void
note_resized(struct hew_extent *extent, size_t freed, size_t size)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    hew_alloc_forget_sample(extent);
    hew_count_other_freed(cache, freed);
    hew_count_operation(cache, 0, freed);
    hew_request_note_slow(cache, size, extent);
}

static void
note_moved(struct hew_extent *from, struct hew_extent *to, size_t size)
{
    hew_alloc_forget_sample(from);
    note_resized(to, from->large.usable, size);
}

/* Returns true if the large extent now holds `size` bytes in place. */
static bool
resize_in_place(struct hew_extent *extent, size_t size)
{
    if (HEW_UNLIKELY(extent->large.guarded)) {
        return hew_large_usable(size) == extent->large.usable;
    }
    struct hew_page_heap *pages = hew_arena_at(extent->arena)->pages.heap;
    unsigned code = hew_large_code(size);
    size_t wanted = hew_large_usable(size);
    size_t before = extent->size;
    bool fits = wanted == extent->size || (wanted < extent->size && hew_page_shrink(pages, extent, wanted)) ||
                (wanted > extent->size && hew_page_grow(pages, extent, wanted));
    if (!fits) {
        return false;
    }
    hew_large_recode(extent, before, code, size);
    return true;
}

/* Moves the pages to a new extent.  NULL: not possible. */
static void *
move_pages(struct hew_extent *from, size_t size, struct hew_arena *arena)
{
    /* Where extent hooks exist, they decide on the ownership of pages. */
    bool hooked = arena->pages.heap->hooks != NULL || hew_arena_at(from->arena)->pages.heap->hooks != NULL;
    struct hew_extent *to =
        hooked || from->large.guarded ? NULL : hew_large_take(arena, size, HEW_PAGE, hew_large_code(size));
    if (to == NULL) {
        return NULL;
    }
    size_t gained = to->size - from->size, fresh = to->large.fresh < gained ? to->large.fresh : gained;
    to->large.fresh = 0;
    to->zeroed = false; /* also if nothing moves: the large-extent cache hands it out to callers that do not check */
    enum hew_os_moved moved = hew_page_move(hew_arena_at(from->arena)->pages.heap, from, arena->pages.heap, to);
    if (moved == HEW_OS_MOVED) {
        note_moved(from, to, size);
        hew_large_give_empty(from);
        hew_page_offset_growth(arena->pages.heap, to->size, fresh);
    } else if (moved == HEW_OS_NOT_MOVED) {
        hew_large_give(to);
    } else {
        hew_large_abandon(to);
    }
    return moved == HEW_OS_MOVED ? (void *)to->address : NULL;
}

/* Fills the bytes that a large object gained without a copy, as new memory is filled. */
static void *
fill_gained(void *object, size_t before)
{
    size_t now = hew_map_extent((uintptr_t)object)->large.usable;
    if (now > before) {
        hew_fill_new((char *)object + before, now - before);
    }
    return object;
}

static bool
resize_and_note(struct hew_extent *extent, size_t size)
{
    size_t before = extent->large.usable;
    if (!resize_in_place(extent, size)) {
        return false;
    }
    note_resized(extent, before, size);
    fill_gained((void *)extent->address, before);
    return true;
}

/* A small object stays unchanged. */
HEW_INLINE void *
realloc_keep(void *object, size_t usable)
{
    struct hew_cache *cache = hew_cache_self;
    if (HEW_UNLIKELY(!hew_cache_is_plain(cache))) {
        return note_kept(object, usable);
    }
    cache->other_allocated += usable;
    cache->other_freed += usable;
    return object;
}

void *
hew_realloc_without_copy(void *object, size_t usable, size_t size, size_t alignment, struct hew_arena *arena)
{
    if (HEW_UNLIKELY(hew_alloc_is_apart(object))) {
        return size <= usable && ((uintptr_t)object & (alignment - 1)) == 0 ? object : NULL;
    }
    unsigned code = hew_aligned_code(size, alignment);
    if (usable <= HEW_SMALL_MAX || code != HEW_CODE_NONE) {
        return !hew_harden_is_full() && code != HEW_CODE_NONE && hew_code_size(code) == usable
                   ? realloc_keep(object, usable)
                   : NULL;
    }
    size_t least = size > HEW_SMALL_MAX ? size : HEW_SMALL_MAX + 1;
    struct hew_extent *extent = hew_map_extent((uintptr_t)object);
    if (least > usable) {
        hew_pressure_before(least - usable);
    }
    if (((uintptr_t)object & (alignment - 1)) == 0 && resize_and_note(extent, least)) {
        return object;
    }
    if (usable < MOVE_BYTES || least <= usable || alignment > HEW_PAGE) {
        return NULL;
    }
    void *moved = move_pages(extent, least, arena != NULL ? arena : hew_arena_at(extent->arena));
    return moved == NULL ? NULL : fill_gained(moved, usable);
}

size_t
hew_realloc_in_place(void *object, size_t least, size_t most)
{
    struct hew_extent *extent = hew_map_extent((uintptr_t)object);
    size_t usable = extent->large.usable;
    if (usable != hew_large_usable(most) && !resize_and_note(extent, most) && usable < least) {
        resize_and_note(extent, least);
    }
    return extent->large.usable;
}

/* Allocates another object with the first `kept` bytes of this one, and frees this one.  NULL: out of memory, nothing
 * has changed. */
static void *
copy_and_free(void *object, size_t kept, size_t size)
{
    void *copy = hew_fast_take(size);
    copy = HEW_LIKELY(copy != NULL) ? copy : hew_fast_take_large(size);
    copy = HEW_LIKELY(copy != NULL) ? copy : hew_alloc_slow(size);
    if (copy != NULL) {
        hew_bytes_copy(copy, object, kept);
        if (HEW_UNLIKELY(!hew_fast_give(object))) {
            hew_alloc_free("realloc", object);
        }
    }
    return copy;
}

/* Moves an object of the old allocator to hew, whatever its new size: the old heap drains. */
static HEW_COLD HEW_NOINLINE void *
move_foreign(void *object, size_t size)
{
    size_t usable = hew_foreign_usable(object);
    void *moved = size > HEW_LARGE_MAX ? NULL : copy_and_free(object, usable < size ? usable : size, size);
    if (moved != NULL) {
        hew_foreign_count_move();
    }
    return moved;
}

/* At least one size is not small, or the object is not an ordinary one. */
static HEW_NOINLINE void *
resize_any(void *object, size_t size)
{
    if (hew_foreign_is(object, hew_map_code((uintptr_t)object))) {
        return move_foreign(object, size);
    }
    size_t usable = hew_alloc_usable("realloc", object);
    hew_alloc_check_kept("realloc", object);
    if (size > HEW_LARGE_MAX) {
        return NULL;
    }
    void *result = hew_realloc_without_copy(object, usable, size, 1, NULL);
    result = result != NULL ? result : copy_and_free(object, usable < size ? usable : size, size);
    return result == NULL && size <= usable ? object : result; /* a smaller size needs no memory */
}

static HEW_NOINLINE void *
resize_small(void *object, size_t usable, size_t size)
{
    void *result = copy_and_free(object, usable < size ? usable : size, size);
    return result == NULL && size <= usable ? object : result;
}

void *
hew_realloc_object(void *object, size_t size)
{
    size_t code = hew_map_code((uintptr_t)object);
    if (HEW_UNLIKELY(code - 1 >= HEW_CODE_SMALL_LAST || size >= hew_small_end)) {
        return resize_any(object, size);
    }
    const struct hew_cache *cache = hew_cache_self;
    if (HEW_UNLIKELY(hew_cache_newest_is(cache, code, object))) {
        hew_describe_free("realloc", (uintptr_t)object);
        return NULL;
    }
    if (HEW_UNLIKELY(cache != NULL && cache->classes[code].base == NULL)) {
        if (hew_marks_wanted()) {
            return resize_any(object, size);
        }
        hew_alloc_check_kept("realloc", object);
    }
    size_t usable = hew_slab_shapes[code].size;
    return HEW_LIKELY(hew_small_code(size) == code) ? realloc_keep(object, usable) : resize_small(object, usable, size);
}

/* SPDX-License-Identifier: MIT */
#include "alloc/realloc.h"

#include "alloc/alloc.h"
#include "alloc/fill.h"
#include "alloc/large.h"

#include <string.h>

/* From here on moving pages (two system calls and some 10 ns a page) beats copying them. */
#define MOVE_BYTES ((size_t)512 << 10)

/* True when the large extent now holds `size` bytes where it is. */
static bool
resize_in_place(struct hew_extent *extent, size_t size)
{
    struct hew_page_heap *pages = &hew_arena_at(extent->arena)->pages;
    unsigned code = hew_large_code(size);
    size_t wanted = hew_large_extent_size(code, size);
    size_t before = extent->size;
    bool fits = wanted == extent->size || (wanted < extent->size && hew_page_shrink(pages, extent, wanted)) ||
        (wanted > extent->size && hew_page_grow(pages, extent, wanted));
    if (!fits) {
        return false;
    }
    hew_arena_recode_large(extent, before, code, size);
    return true;
}

/* A new extent that takes over the old one's pages; NULL when that is not to be had. */
static void *
move_pages(struct hew_extent *from, size_t size)
{
    struct hew_arena *arena = hew_arena_at(from->arena);
    struct hew_extent *to = hew_arena_take_large(arena, size, HEW_PAGE, hew_large_code(size));
    if (to == NULL) {
        return NULL;
    }
    enum hew_os_moved moved = hew_page_move(from, to);
    if (moved == HEW_OS_MOVED) {
        hew_alloc_note_moved(from, to, size);
        hew_arena_give_large(from);
    } else if (moved == HEW_OS_NOT_MOVED) {
        hew_arena_give_large(to);
    } else {
        hew_arena_abandon_large(to);
    }
    return moved == HEW_OS_MOVED ? (void *)to->address : NULL;
}

/* A large object that kept its contents without a copy: what it gained is filled as new memory is. */
static void *
fill_gained(void *object, size_t before)
{
    size_t now = hew_map_extent((uintptr_t)object)->large.usable;
    if (now > before) {
        hew_fill_new((char *)object + before, now - before);
    }
    return object;
}

static void *
new_object(size_t size)
{
    if (size > HEW_SMALL_MAX) {
        return hew_alloc_large(size, false);
    }
    unsigned code = hew_small_codes[(size + 7) >> 3];
    void *object = hew_cache_pop(hew_cache_self, code);
    return object != NULL ? object : hew_alloc_small(size);
}

static void
free_object(void *object)
{
    if (!hew_cache_push(hew_cache_self, hew_map_code((uintptr_t)object), object)) {
        hew_alloc_free("realloc", object);
    }
}

/* A large object with another size and its contents, without a copy; NULL when that is not to be had. */
static void *
resize_large(struct hew_extent *extent, size_t size)
{
    size_t usable = extent->large.usable;
    if (resize_in_place(extent, size)) {
        hew_alloc_note_resized(extent, usable, size);
        return fill_gained((void *)extent->address, usable);
    }
    void *moved = usable >= MOVE_BYTES && size > usable ? move_pages(extent, size) : NULL;
    return moved == NULL ? NULL : fill_gained(moved, usable);
}

void *
hew_realloc_object(void *object, size_t size)
{
    size_t usable = hew_alloc_usable("realloc", object);
    if (size > HEW_LARGE_MAX) {
        return NULL;
    }
    if (usable <= HEW_SMALL_MAX) {
        if (size <= usable && hew_code_size(hew_small_codes[(size + 7) >> 3]) == usable) {
            return object;
        }
    } else if (size > HEW_SMALL_MAX) {
        void *resized = resize_large(hew_map_extent((uintptr_t)object), size);
        if (resized != NULL) {
            return resized;
        }
    }
    void *copy = new_object(size);
    if (copy == NULL) {
        return size <= usable ? object : NULL; /* a smaller size needs no memory */
    }
    memcpy(copy, object, usable < size ? usable : size);
    free_object(object);
    return copy;
}

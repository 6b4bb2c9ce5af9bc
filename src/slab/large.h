/* SPDX-License-Identifier: MIT */
/*
 * large: objects above the small classes: one extent each.
 *
 * Up to tcache_max, and always up to 256 KiB, objects have size classes as small ones do.  Their extents have the
 * class's size, are wholly usable, and are kept in magazines and per-CPU caches.  Above, extents are as large as
 * requested, and the address map shows HEW_CODE_SLOW.
 *
 * Locks     the page heap's; the counts are relaxed atomics.  The holder of an object owns its extent's fields.
 * Not here  which arena: arena.h, cache/thread.c.
 */
#ifndef HEW_SLAB_LARGE_H
#define HEW_SLAB_LARGE_H

#include "slab/arena.h"
#include "slab/describe.h"

#define HEW_LARGE_AT_ONCE 32

/* The size-class index of a request above HEW_SMALL_MAX bytes. */
HEW_INLINE unsigned
hew_large_code(size_t size)
{
    return size > HEW_LARGE_CODES_MAX && size > hew_options.tcache_max ? HEW_CODE_SLOW
                                                                       : hew_usual_code(hew_system_pages(size));
}

/* Bytes that a program may use: those of the class; above the classes, whole pages or (an option) the class size. */
HEW_INLINE size_t
hew_large_usable(size_t size)
{
    return hew_large_code(size) == HEW_CODE_SLOW && hew_options.disable_large_size_classes
               ? hew_system_pages(size)
               : hew_class_round_large(hew_system_pages(size));
}

/*
 * Allocates an object with the bytes of class `code`, or for HEW_CODE_SLOW of at least `size` bytes, at a multiple of
 * `alignment` (whole pages); both up to HEW_LARGE_MAX.  extent->zeroed: it reads as zeros.  NULL without memory.
 */
struct hew_extent *hew_large_take(struct hew_arena *arena, size_t size, size_t alignment, unsigned code);

/* The same for a caller that will write all of it: instead of memory touched for the first time, idle pages from
 * elsewhere are moved there.  extent->large.fresh bytes at its end read as zeros. */
struct hew_extent *hew_large_take_warm(struct hew_arena *arena, size_t size, size_t alignment, unsigned code);

/* Changes the arena of a cached object that another arena, which shares the page heap, allocates again. */
void hew_large_change_arena(struct hew_arena *arena, struct hew_extent *extent);

/* Reuses a recently freed object of no size class, of exactly the capacity that `size` bytes get; this counts as a
 * request, too.  hew_large_keep() made sure that it was used to its end and had no guard page.  NULL: there is none. */
HEW_INLINE struct hew_extent *
hew_large_reuse(struct hew_arena *arena, size_t size)
{
    struct hew_extent *extent = hew_shelf_take_one(&arena->pages.heap->shelf, hew_large_usable(size), arena->index);
    if (extent == NULL) {
        return NULL;
    }
    extent->zeroed = false; /* a pool does not say that it has written there */
    extent->large.fresh = 0;
    if (HEW_UNLIKELY(extent->arena != arena->index)) {
        hew_large_change_arena(arena, extent);
    }
    return extent;
}

/* Allocates up to `wanted` objects of class `code`, at most HEW_LARGE_AT_ONCE; the last is to be used first.  More than
 * one only if they are free already.  Returns how many, 0 without memory.  Several objects never count as zeroed. */
unsigned hew_large_take_some(struct hew_arena *arena, unsigned code, void **objects, unsigned wanted);

/* Returns an object of class `code` from a magazine.  free() has only checked its granule's size-class index.  So here
 * the process ends if no object begins at that address, or if it has gone elsewhere. */
HEW_INLINE void *
hew_large_of_magazine(void *object, unsigned code)
{
    const struct hew_extent *extent = hew_map_extent_covered((uintptr_t)object);
    if (HEW_UNLIKELY(extent == NULL) || HEW_UNLIKELY(extent->address != (uintptr_t)object)) {
        hew_describe_and_end("free", (uintptr_t)object);
    }
    return object;
}

/* Frees an object that is out.  This, and the functions below that free, end the process if it is free already, or if
 * another thread frees it at the same moment. */
void hew_large_give(struct hew_extent *extent);

/* Keeps the object for the next request of its size.  False: the caller frees it to the page heap, which detects double
 * frees. */
HEW_INLINE bool
hew_large_keep(struct hew_extent *extent)
{
    bool fits = extent->code == HEW_CODE_SLOW && extent->size > HEW_SHELF_ABOVE && extent->large.usable == extent->size;
    return fits && hew_page_shelve_one(hew_arena_at(extent->arena)->pages.heap, extent);
}

/* Marks an object of class `code` as free while a per-CPU cache holds it: a second free, or a query of its size,
 * reports that it is free.  Ends the process when it is not out. */
void hew_large_hide(void *object, unsigned code);

/* It leaves the per-CPU cache. */
HEW_INLINE void
hew_large_show(void *object, unsigned code)
{
    hew_map_set_code((uintptr_t)object, code);
}

/* Frees it to the page heap. */
void hew_large_give_back(struct hew_extent *extent);

/* Frees it, and unmaps its pages, which are no longer accessible. */
void hew_large_discard(struct hew_extent *extent);

/* Frees it to the page heap, after its pages have moved to another object. */
void hew_large_give_empty(struct hew_extent *extent);

/* Frees several of one class and one arena. */
void hew_large_give_some(struct hew_extent *const *extents, unsigned count);

/* Sets the number of usable bytes, when it is not the extent's own. */
void hew_large_set_usable(struct hew_extent *extent, size_t usable);

/* Records that an object of `before` bytes of pages now has class `code` and capacity for `size`, in place. */
void hew_large_recode(struct hew_extent *extent, size_t before, unsigned code, size_t size);

/* Forgets an object without touching its pages: see hew_page_abandon(). */
void hew_large_abandon(struct hew_extent *extent);

#endif

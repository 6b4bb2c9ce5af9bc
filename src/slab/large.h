/* SPDX-License-Identifier: MIT */
/*
 * large: objects above the small classes: an extent of its own each.
 *
 * Up to tcache_max, and to 256 KiB in any case, they have classes as small objects have: extents of the class's size,
 * all of it usable, kept in magazines and depots.  Above, extents are as large as asked, and the address map calls them slow.
 *
 * Locks     the page heap's; the counts are relaxed atomics.  An extent's fields belong to whoever holds the object.
 * Not here  which arena: arena.h, cache/thread.c.
 */
#ifndef HEW_SLAB_LARGE_H
#define HEW_SLAB_LARGE_H

#include "slab/arena.h"
#include "slab/describe.h"

#define HEW_LARGE_AT_ONCE 32

/* The code of a request above HEW_SMALL_MAX bytes. */
HEW_INLINE unsigned
hew_large_code(size_t size)
{
    return size > HEW_LARGE_CODES_MAX && size > hew_options.tcache_max ? HEW_CODE_SLOW : hew_usual_code(size);
}

/* Bytes that a program may use of it: those of its class; above the classes whole pages, or as an option the class. */
HEW_INLINE size_t
hew_large_usable(size_t size)
{
    return hew_large_code(size) == HEW_CODE_SLOW && hew_options.disable_large_size_classes
               ? hew_bits_round_up(size, HEW_PAGE)
               : hew_class_round_large(size);
}

/*
 * An object with the bytes of class `code`, or for HEW_CODE_SLOW with room for `size`, at a multiple of `alignment` (whole
 * pages); both up to HEW_LARGE_MAX.  extent->zeroed: it reads as zeros.  NULL without memory.
 */
struct hew_extent *hew_large_take(struct hew_arena *arena, size_t size, size_t alignment, unsigned code);

/* The same for who writes to all of it: where memory would be touched for the first time, idle pages from elsewhere are moved
 * there.  extent->large.fresh: so many bytes at its end read as zeros. */
struct hew_extent *hew_large_take_warm(struct hew_arena *arena, size_t size, size_t alignment, unsigned code);

/* An object that was freed where `extent` says goes out again as one of another arena, which shares the page heap. */
void hew_large_change_arena(struct hew_arena *arena, struct hew_extent *extent);

/* An object without a class that was freed a moment ago and has just the room that `size` bytes have; it counts as a
 * request, too.  It was used to its end and had no guard: hew_large_keep() has seen to that.  NULL: there is none. */
HEW_INLINE struct hew_extent *
hew_large_reuse(struct hew_arena *arena, size_t size)
{
    struct hew_extent *extent = hew_shelf_take_one(&arena->pages.heap->shelf, hew_large_usable(size), arena->index);
    if (HEW_UNLIKELY(extent != NULL && extent->arena != arena->index)) {
        hew_large_change_arena(arena, extent);
    }
    return extent;
}

/* Up to `wanted` objects of class `code`, at most HEW_LARGE_AT_ONCE; the last is to be used first.  More than one only if
 * they are at hand.  Returns how many, 0 without memory.  Several never count as zeroed. */
unsigned hew_large_take_some(struct hew_arena *arena, unsigned code, void **objects, unsigned wanted);

/* What a magazine has for class `code`.  free() has looked at no more than its grain's code: now is the time to end the
 * process for what does not begin there or has gone elsewhere. */
HEW_INLINE void *
hew_large_of_magazine(void *object, unsigned code)
{
    const struct hew_extent *extent = hew_map_extent_covered((uintptr_t)object);
    if (HEW_UNLIKELY(extent == NULL) || HEW_UNLIKELY(extent->address != (uintptr_t)object)) {
        hew_describe_and_end("free", (uintptr_t)object);
    }
    return object;
}

/* An object that is out comes back.  This, and what gives below, ends the process when it has come back already,
 * or does so in another thread at the same moment. */
void hew_large_give(struct hew_extent *extent);

/* At hand for the next request of its size; false: it is to be given to the page heap, which finds those that are free. */
HEW_INLINE bool
hew_large_keep(struct hew_extent *extent)
{
    bool fits = extent->code == HEW_CODE_SLOW && extent->size > HEW_SHELF_ABOVE && extent->large.usable == extent->size;
    return fits && hew_page_shelve_one(hew_arena_at(extent->arena)->pages.heap, extent);
}

/* An object of class `code` lies in a depot from now on: whoever frees it again, or asks for its size, is told that it is free.
 * Ends the process when it is not out. */
void hew_large_hide(void *object, unsigned code);

/* It leaves the depot. */
HEW_INLINE void
hew_large_show(void *object, unsigned code)
{
    hew_map_set_code((uintptr_t)object, code);
}

/* To the page heap. */
void hew_large_give_back(struct hew_extent *extent);

/* To the page heap, once its pages have moved to another object. */
void hew_large_give_empty(struct hew_extent *extent);

/* Several of one class and one arena. */
void hew_large_give_some(struct hew_extent *const *extents, unsigned count);

/* The program may use other than the extent's own number of bytes. */
void hew_large_set_usable(struct hew_extent *extent, size_t usable);

/* An object that had `before` bytes of pages has become one of `code` with room for `size` where it is. */
void hew_large_recode(struct hew_extent *extent, size_t before, unsigned code, size_t size);

/* Forgets an object without touching its pages: see hew_page_abandon(). */
void hew_large_abandon(struct hew_extent *extent);

#endif

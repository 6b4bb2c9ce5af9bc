/* SPDX-License-Identifier: MIT */
/*
 * join: tries the largest extents first: the more of a request dirty pages cover, the less new memory is touched.
 */
#include "page/join.h"

#include "meta/map.h"
#include "page/split.h"

#define LOOKS 16 /* extents to examine, the largest first */
#define STEPS 64 /* neighbours to coalesce */

/* How many bytes beside an extent are free in one direction, `next`.  Stops once `wanted` is reached. */
static size_t
reach(struct hew_extent *extent, size_t wanted, struct hew_extent *(*next)(struct hew_extent *extent))
{
    size_t bytes = 0;
    for (unsigned step = 0; bytes < wanted && step < STEPS && (extent = next(extent)) != NULL; step++) {
        bytes += extent->size;
    }
    return bytes;
}

/* Finds a place for `size` bytes that overlaps `extent`: from its start on, or as far below as needed. 0: none fits. */
static uintptr_t
place(struct hew_extent *extent, size_t size, size_t alignment)
{
    size_t wanted = size + alignment;
    uintptr_t end = hew_extent_end(extent) + reach(extent, wanted, hew_split_free_behind);
    uintptr_t start = hew_bits_round_up(extent->address, alignment);
    if (start + size > end) {
        uintptr_t low = extent->address - reach(extent, wanted, hew_split_free_before);
        start = end < size ? 0 : (end - size) & ~(alignment - 1);
        start = start < low ? 0 : start;
    }
    return start < hew_extent_end(extent) && start + size > extent->address ? start : 0;
}

/* Extends `taken` by a piece right behind it. */
static void
append(struct hew_page_heap *heap, struct hew_extent *taken, struct hew_extent *piece, size_t *fresh)
{
    bool retained = piece->state == HEW_EXTENT_RETAINED;
    HEW_ASSERT(1, hew_extent_end(taken) == piece->address);
    *fresh = retained ? *fresh + piece->size : 0;
    taken->state = retained ? taken->state : HEW_EXTENT_DIRTY;
    taken->size += piece->size;
    taken->huge |= piece->huge;
    hew_split_drop_extent(heap, piece);
}

static struct hew_extent *
cut_from(struct hew_page_heap *heap, struct hew_extent *extent, uintptr_t start, uintptr_t end)
{
    uintptr_t upper = end < hew_extent_end(extent) ? end : hew_extent_end(extent);
    return hew_split_cut(heap, hew_split_stock_of(heap, extent->state), extent, start, upper - start);
}

/* Takes [start, start + size), which is free and overlaps `extent`.  NULL without memory for a struct. */
static struct hew_extent *
join_cut(struct hew_page_heap *heap, struct hew_extent *extent, uintptr_t start, size_t size, size_t *fresh)
{
    uintptr_t end = start + size;
    struct hew_extent *first = extent, *last = extent;
    while (first->address > start) {
        first = hew_split_free_before(first);
    }
    while (hew_extent_end(last) < end) {
        last = hew_split_free_behind(last);
    }
    /* Cut the extents at the ends first: that needs memory, which may be lacking. */
    struct hew_extent *taken = cut_from(heap, first, start, end);
    struct hew_extent *tail = taken == NULL || first == last ? NULL : cut_from(heap, last, last->address, end);
    if (taken == NULL || (first != last && tail == NULL)) {
        if (taken != NULL) {
            hew_split_insert(heap, hew_split_stock_of(heap, taken->state), taken, taken->state);
        }
        return NULL;
    }
    *fresh = taken->state == HEW_EXTENT_RETAINED ? taken->size : 0;
    while (tail != NULL && hew_extent_end(taken) != tail->address) {
        struct hew_extent *next = hew_split_free_behind(taken);
        hew_stock_remove(hew_split_stock_of(heap, next->state), next);
        append(heap, taken, next, fresh);
    }
    if (tail != NULL) {
        append(heap, taken, tail, fresh);
    }
    return taken;
}

struct hew_extent *
hew_join_take(struct hew_page_heap *heap, struct hew_stock *stock, size_t size, size_t alignment, size_t *fresh)
{
    struct hew_extent *largest[LOOKS];
    unsigned count = hew_stock_largest_below(stock, size, largest, LOOKS);
    for (unsigned i = 0; i < count; i++) {
        uintptr_t start = place(largest[i], size, alignment);
        if (start != 0) {
            return join_cut(heap, largest[i], start, size, fresh);
        }
    }
    return NULL;
}

bool
hew_join_grow(struct hew_page_heap *heap, struct hew_extent *extent, size_t more)
{
    size_t fresh;
    if (reach(extent, more, hew_split_free_behind) < more) {
        return false;
    }
    struct hew_extent *piece = join_cut(heap, hew_split_free_behind(extent), hew_extent_end(extent), more, &fresh);
    if (piece == NULL) {
        return false;
    }
    extent->zeroed = extent->zeroed && piece->state == HEW_EXTENT_RETAINED;
    extent->size += more;
    extent->huge |= piece->huge;
    hew_split_drop_extent(heap, piece);
    hew_split_mark_ends(extent);
    return true;
}

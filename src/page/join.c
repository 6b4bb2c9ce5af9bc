/* SPDX-License-Identifier: MIT */
/*
 * join: tries the largest extents first: the more of a request dirty pages cover, the less new memory is touched.
 */
#include "page/join.h"

#include "meta/map.h"
#include "page/split.h"

#define LOOKS 16 /* extents to examine, the largest first */
#define STEPS 64 /* neighbours to coalesce */

/* How many adjacent bytes are free from a free extent on; stops once `size` is reached. */
static size_t
reach_up(struct hew_extent *extent, size_t size)
{
    size_t reach = extent->size;
    for (unsigned step = 0; reach < size && step < STEPS; step++) {
        extent = hew_split_free_behind(extent);
        if (extent == NULL) {
            break;
        }
        reach += extent->size;
    }
    return reach;
}

/* How many are free right before it. */
static size_t
reach_down(struct hew_extent *extent, size_t size)
{
    size_t reach = 0;
    for (unsigned step = 0; reach < size && step < STEPS; step++) {
        extent = hew_split_free_before(extent);
        if (extent == NULL) {
            break;
        }
        reach += extent->size;
    }
    return reach;
}

/* Finds a place for `size` bytes that overlaps `extent`: from its start on, or as far below as needed. 0: none fits. */
static uintptr_t
place(struct hew_extent *extent, size_t size, size_t alignment)
{
    size_t wanted = size + alignment;
    uintptr_t end = extent->address + reach_up(extent, wanted);
    uintptr_t start = hew_bits_round_up(extent->address, alignment);
    if (start + size > end) {
        uintptr_t low = extent->address - reach_down(extent, wanted);
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
    struct hew_extent *behind = hew_split_free_behind(extent);
    bool fits = behind != NULL && reach_up(behind, more) >= more;
    struct hew_extent *piece = fits ? join_cut(heap, behind, behind->address, more, &fresh) : NULL;
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

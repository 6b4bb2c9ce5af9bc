/* SPDX-License-Identifier: MIT */
/*
 * join: the largest dirty extents are tried first: the more of a request they cover, the less new memory is touched.
 */
#include "page/join.h"

#include "meta/map.h"
#include "page/split.h"

#define LOOKS 16 /* dirty extents that are looked at, the largest first */

/* A dirty extent and its neighbours that are retained, NULL where there is none; and what is to be taken of them. */
struct site {
    struct hew_extent *before, *dirty, *behind;
    uintptr_t start, end;
};

static struct hew_extent *
retained_neighbour(const struct hew_extent *extent, uintptr_t page)
{
    struct hew_extent *other = hew_map_extent(page);
    return hew_split_joinable(extent, other) && other->state == HEW_EXTENT_RETAINED ? other : NULL;
}

/* Finds where to take `size` bytes: from the dirty pages on, or else as much lower as is needed.  False: no room. */
static bool
place(struct site *site, size_t size, size_t alignment)
{
    struct hew_extent *dirty = site->dirty;
    uintptr_t end = site->behind == NULL ? hew_extent_end(dirty) : hew_extent_end(site->behind);
    uintptr_t low = site->before == NULL ? dirty->address : site->before->address;
    site->start = hew_bits_round_up(dirty->address, alignment);
    if (site->start + size > end) {
        site->start = end < size ? 0 : (end - size) & ~(alignment - 1);
    }
    site->end = site->start + size;
    return site->start >= low && site->start < hew_extent_end(dirty) && site->end > dirty->address;
}

/* Back into the stock, if it was taken. */
static void
put_back(struct hew_page_heap *heap, struct hew_extent *piece)
{
    if (piece != NULL) {
        hew_split_insert(heap, &heap->retained, piece, HEW_EXTENT_RETAINED);
    }
}

static void
join_drop(struct hew_page_heap *heap, struct hew_extent *piece)
{
    if (piece != NULL) {
        hew_split_drop_extent(heap, piece);
    }
}

static struct hew_extent *
take_site(struct hew_page_heap *heap, const struct site *site)
{
    uintptr_t start = site->dirty->address, end = hew_extent_end(site->dirty);
    bool lower = site->start<start, upper = site->end> end;
    struct hew_extent *below = NULL, *above = NULL, *middle = NULL;
    if (lower) {
        below = hew_split_cut(heap, &heap->retained, site->before, site->start, start - site->start);
    }
    if (upper) {
        above = hew_split_cut(heap, &heap->retained, site->behind, end, site->end - end);
    }
    if ((below != NULL) == lower && (above != NULL) == upper) {
        uintptr_t from = lower ? start : site->start, to = upper ? end : site->end;
        middle = hew_split_cut(heap, &heap->dirty, site->dirty, from, to - from);
    }
    if (middle == NULL) {
        put_back(heap, below);
        put_back(heap, above);
        return NULL;
    }
    middle->huge |= (lower && below->huge) || (upper && above->huge);
    join_drop(heap, below);
    join_drop(heap, above);
    middle->address = site->start;
    middle->size = site->end - site->start;
    return middle;
}

struct hew_extent *
hew_join_take(struct hew_page_heap *heap, size_t size, size_t alignment, size_t *fresh)
{
    struct hew_extent *largest[LOOKS];
    unsigned count = hew_stock_largest_below(&heap->dirty, size, largest, LOOKS);
    for (unsigned i = 0; i < count; i++) {
        struct site site = {.dirty = largest[i]};
        site.before = retained_neighbour(site.dirty, site.dirty->address - 1);
        site.behind = retained_neighbour(site.dirty, hew_extent_end(site.dirty));
        if ((site.before != NULL || site.behind != NULL) && place(&site, size, alignment)) {
            uintptr_t end = hew_extent_end(site.dirty);
            *fresh = site.end > end ? site.end - end : 0;
            return take_site(heap, &site);
        }
    }
    return NULL;
}

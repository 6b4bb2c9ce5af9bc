/* SPDX-License-Identifier: MIT */
/*
 * split: cutting and coalescing extents.  The extent map names a free extent at its first and last page only.
 * Neighbours find each other there, so nothing is searched for.
 */
#include "page/split.h"

#include "meta/map.h"
#include "meta/memory.h"

#define STRUCTS_AT_ONCE 16

static bool
refill_spare(struct hew_page_heap *heap)
{
    struct hew_extent *extents = hew_meta_take(STRUCTS_AT_ONCE * sizeof *extents);
    for (unsigned i = 0; extents != NULL && i < STRUCTS_AT_ONCE; i++) {
        extents[i].free.next = heap->spare;
        heap->spare = &extents[i];
        heap->counts.structs++;
        heap->counts.spare_structs++;
    }
    return extents != NULL;
}

static void
set_region(struct hew_extent *extent, uint32_t region)
{
    atomic_store_explicit(&extent->region, region, memory_order_relaxed);
}

struct hew_extent *
hew_split_new_extent(struct hew_page_heap *heap, const struct hew_extent *from, uintptr_t address, size_t size)
{
    if (heap->spare == NULL && !refill_spare(heap)) {
        return NULL;
    }
    HEW_ASSERT(1, size != 0 && ((address | size) & (hew_system_page - 1)) == 0);
    HEW_ASSERT(1, heap->spare->state == HEW_EXTENT_UNUSED && heap->counts.spare_structs != 0);
    struct hew_extent *extent = heap->spare;
    heap->spare = extent->free.next;
    heap->counts.spare_structs--;
    extent->address = address;
    extent->size = size;
    set_region(extent, atomic_load_explicit(&from->region, memory_order_relaxed));
    extent->arena = from->arena;
    extent->state = from->state;
    extent->data_segment = from->data_segment;
    extent->zeroed = from->zeroed;
    extent->decommitted = from->decommitted;
    extent->huge = from->huge;
    extent->code = HEW_CODE_NONE;
    return extent;
}

void
hew_split_drop_extent(struct hew_page_heap *heap, struct hew_extent *extent)
{
    HEW_ASSERT(1, extent->state != HEW_EXTENT_UNUSED);
    extent->state = HEW_EXTENT_UNUSED;
    set_region(extent, 0);
    extent->free.next = heap->spare;
    heap->spare = extent;
    heap->counts.spare_structs++;
}

void
hew_split_mark_ends(struct hew_extent *extent)
{
    hew_map_set_extent(extent->address, extent);
    hew_map_set_extent(hew_extent_end(extent) - 1, extent);
}

void
hew_split_forget_ends(struct hew_extent *extent)
{
    hew_map_set_extent(extent->address, NULL);
    hew_map_set_extent(hew_extent_end(extent) - 1, NULL);
}

bool
hew_split_joinable(const struct hew_extent *extent, const struct hew_extent *other)
{
    /* Region numbers are unique in the process, so an equal one is in this heap, under the lock held here.  An unequal
     * one may be changing under another heap's lock: so the read is atomic. */
    return other != NULL && atomic_load_explicit(&other->region, memory_order_relaxed) ==
                                atomic_load_explicit(&extent->region, memory_order_relaxed);
}

static bool
overlap(const struct hew_extent *extent, const struct hew_extent *other)
{
    return other != extent && hew_split_joinable(extent, other) && other->address < hew_extent_end(extent) &&
           extent->address < hew_extent_end(other);
}

bool
hew_split_beside(const struct hew_extent *extent)
{
    return !overlap(extent, hew_map_extent(extent->address - 1)) &&
           !overlap(extent, hew_map_extent(hew_extent_end(extent)));
}

size_t
hew_split_in_transit(const struct hew_page_heap *heap)
{
    size_t bytes = 0;
    for (const struct hew_list *node = heap->transit.next; node != &heap->transit; node = node->next) {
        bytes += HEW_CONTAINER(node, const struct hew_extent, free.age)->size;
    }
    return bytes;
}

struct hew_stock *
hew_split_stock_of(struct hew_page_heap *heap, unsigned state)
{
    return state == HEW_EXTENT_DIRTY ? &heap->dirty : state == HEW_EXTENT_MUZZY ? &heap->muzzy : &heap->retained;
}

/* Returns whether `other`, found beside `extent`, is free and of the same mapping. */
static bool
is_free(const struct hew_extent *extent, const struct hew_extent *other)
{
    return hew_split_joinable(extent, other) && other->state >= HEW_EXTENT_DIRTY && other->state <= HEW_EXTENT_RETAINED;
}

struct hew_extent *
hew_split_free_behind(struct hew_extent *extent)
{
    struct hew_extent *behind = hew_map_extent(hew_extent_end(extent));
    return is_free(extent, behind) && behind->address == hew_extent_end(extent) ? behind : NULL;
}

struct hew_extent *
hew_split_free_before(struct hew_extent *extent)
{
    struct hew_extent *before = hew_map_extent(extent->address - 1);
    return is_free(extent, before) && hew_extent_end(before) == extent->address ? before : NULL;
}

struct hew_extent *
hew_split_cut(struct hew_page_heap *heap, struct hew_stock *stock, struct hew_extent *extent, uintptr_t start,
              size_t size)
{
    size_t lead = start - extent->address, trail = hew_extent_end(extent) - start - size;
    HEW_ASSERT(1, start >= extent->address && start + size <= hew_extent_end(extent) && start + size > start);
    HEW_ASSERT(1, stock == hew_split_stock_of(heap, extent->state) && extent->arena == heap->arena);
    if (lead == 0 && trail == 0) {
        hew_stock_remove(stock, extent);
        return extent;
    }
    struct hew_extent *taken = hew_split_new_extent(heap, extent, start, size);
    if (taken == NULL) {
        return NULL;
    }
    if (lead != 0 && trail != 0) {
        struct hew_extent *tail = hew_split_new_extent(heap, extent, start + size, trail);
        if (tail == NULL) {
            hew_split_drop_extent(heap, taken);
            return NULL;
        }
        hew_split_mark_ends(tail);
        hew_stock_insert(stock, tail, extent);
        if (extent->free.unmerged.next != NULL) {
            hew_stock_mark_unmerged(stock, tail);
        }
    }
    if (lead != 0) {
        hew_stock_resize(stock, extent, extent->address, lead);
    } else {
        hew_stock_resize(stock, extent, start + size, trail);
    }
    HEW_ASSERT(1,
               lead != 0 ? hew_extent_end(extent) == start : extent->address == start + size && extent->size == trail);
    hew_split_mark_ends(extent);
    return taken;
}

static bool
split_mergeable(const struct hew_extent *extent, const struct hew_extent *other, unsigned state)
{
    return hew_split_joinable(extent, other) && other->state == state;
}

void
hew_split_insert(struct hew_page_heap *heap, struct hew_stock *stock, struct hew_extent *extent, unsigned state)
{
    HEW_ASSERT(1, stock == hew_split_stock_of(heap, state) && extent->arena == heap->arena);
    extent->state = (uint8_t)state;
    extent->code = HEW_CODE_NONE;
    struct hew_extent *before, *behind;
    while (split_mergeable(extent, before = hew_map_extent(extent->address - 1), state) &&
           hew_extent_end(before) == extent->address) {
        hew_stock_remove(stock, before);
        extent->address = before->address;
        extent->size += before->size;
        extent->huge |= before->huge;
        hew_split_drop_extent(heap, before);
    }
    while (split_mergeable(extent, behind = hew_map_extent(hew_extent_end(extent)), state) &&
           behind->address == hew_extent_end(extent)) {
        hew_stock_remove(stock, behind);
        extent->size += behind->size;
        extent->huge |= behind->huge;
        hew_split_drop_extent(heap, behind);
    }
    HEW_ASSERT(2, hew_split_beside(extent));
    hew_split_mark_ends(extent);
    hew_stock_insert(stock, extent, NULL);
}

void
hew_split_insert_unmerged(struct hew_stock *stock, struct hew_extent *extent, unsigned state)
{
    extent->state = (uint8_t)state;
    extent->code = HEW_CODE_NONE;
    hew_split_mark_ends(extent);
    hew_stock_insert(stock, extent, NULL);
    hew_stock_mark_unmerged(stock, extent);
}

bool
hew_split_merge(struct hew_page_heap *heap, struct hew_stock *stock)
{
    struct hew_list *node = hew_list_first(&stock->unmerged);
    bool some = node != NULL;
    for (; node != NULL; node = hew_list_first(&stock->unmerged)) {
        struct hew_extent *extent = HEW_CONTAINER(node, struct hew_extent, free.unmerged);
        unsigned state = extent->state;
        hew_stock_remove(stock, extent);
        hew_split_insert(heap, stock, extent, state);
    }
    return some;
}

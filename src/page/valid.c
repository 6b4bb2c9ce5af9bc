/* SPDX-License-Identifier: MIT */
/*
 * valid: consistency checks of a page heap.  Check level 3 runs them at the end of each operation, and tests call them.
 */
#include "meta/map.h"
#include "os/check.h"
#include "page/heap.h"
#include "page/split.h"

/* Checks that both maps agree with a free extent.  A granule that it covers only in part may carry a neighbour's
 * index. */
static bool
free_in_maps(struct hew_extent *extent)
{
    uintptr_t end = hew_extent_end(extent);
    uintptr_t first = hew_bits_round_up(extent->address, HEW_GRAIN);
    for (uintptr_t grain = first; grain + HEW_GRAIN <= end; grain += HEW_GRAIN) {
        if (hew_map_code(grain) != HEW_CODE_NONE) {
            return false;
        }
    }
    return hew_map_extent(extent->address) == extent && hew_map_extent(end - 1) == extent;
}

bool
hew_page_heap_valid(struct hew_page_heap *heap)
{
    const struct hew_stock *const stocks[] = {&heap->dirty, &heap->muzzy, &heap->retained};
    size_t bytes = heap->counts.active + hew_split_in_transit(heap);
    for (unsigned kind = 0; kind < 3; kind++) {
        if (!hew_stock_valid(stocks[kind])) {
            return false;
        }
        bytes += stocks[kind]->bytes;
        for (struct hew_list *node = stocks[kind]->oldest.next; node != &stocks[kind]->oldest; node = node->next) {
            struct hew_extent *extent = HEW_CONTAINER(node, struct hew_extent, free.age);
            if (!free_in_maps(extent)) {
                return false;
            }
        }
    }
    return heap->hooks != NULL || bytes == heap->counts.mapped; /* while a hook runs, its extent is in no list */
}

bool
hew_page_valid_if_due(struct hew_page_heap *heap)
{
    size_t extents = heap->dirty.extents + heap->muzzy.extents + heap->retained.extents;
    size_t grains = (heap->dirty.bytes + heap->muzzy.bytes + heap->retained.bytes) / HEW_GRAIN;
    return !hew_check_may_walk(2 * extents + grains) || hew_page_heap_valid(heap);
}

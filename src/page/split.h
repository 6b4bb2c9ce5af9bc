/* SPDX-License-Identifier: MIT */
/*
 * split: extent structs, their boundary entries in the extent map, and coalescing with free neighbours.
 *
 * Called    under the page heap's lock.
 */
#ifndef HEW_PAGE_SPLIT_H
#define HEW_PAGE_SPLIT_H

#include "page/heap.h"

/* Makes a struct for [address, address + size) that inherits region, arena and state from `from`.  NULL: no memory. */
struct hew_extent *hew_split_new_extent(struct hew_page_heap *heap, const struct hew_extent *from, uintptr_t address,
                                        size_t size);

/* Lock held.  The caller will work without the lock on an extent that is in no free list. */
HEW_INLINE void
hew_page_enter_transit(struct hew_page_heap *heap, struct hew_extent *extent)
{
    extent->free.worker = hew_thread_token();
    hew_list_push_back(&heap->transit, &extent->free.age);
}

/* Lock held. */
HEW_INLINE void
hew_page_add_active(struct hew_page_heap *heap, ptrdiff_t bytes)
{
    HEW_ASSERT(1, bytes >= 0 || heap->counts.active >= (size_t)-bytes);
    heap->counts.active += (size_t)bytes;
    __atomic_store_n(&heap->active_pages, heap->counts.active / HEW_PAGE, __ATOMIC_RELAXED);
}

/* Lock held.  Clears an active extent's entries in the address map. */
HEW_INLINE void
hew_split_clear_codes(const struct hew_extent *extent)
{
    HEW_ASSERT(1, hew_map_extent(extent->address) == extent && hew_map_extent(hew_extent_end(extent) - 1) == extent);
    if (extent->code > HEW_CODE_SMALL_LAST) {
        hew_map_set_code(extent->address, HEW_CODE_NONE);
        return;
    }
    for (uintptr_t grain = extent->address; grain < hew_extent_end(extent); grain += HEW_GRAIN) {
        hew_map_set_code(grain, HEW_CODE_NONE);
    }
}

/* Lock held.  The extent is no longer in use: it belongs to the heap again, and is in no free list yet. */
HEW_INLINE void
hew_split_deactivate(struct hew_page_heap *heap, struct hew_extent *extent)
{
    HEW_ASSERT(1, extent->state == HEW_EXTENT_ACTIVE);
    hew_page_add_active(heap, -(ptrdiff_t)extent->size);
    hew_split_clear_codes(extent);
    extent->arena = heap->arena;
}

/* Frees the struct for reuse. */
void hew_split_drop_extent(struct hew_page_heap *heap, struct hew_extent *extent);

/* Writes the extent map's entries for the first and the last page, through which neighbours find each other. */
void hew_split_mark_ends(struct hew_extent *extent);

/* Clears these entries: the range is about to leave, or has left, the process's map. */
void hew_split_forget_ends(struct hew_extent *extent);

/* Returns whether the two lie in one mapping of one heap.  `other` may be NULL, stale or another heap's. */
bool hew_split_joinable(const struct hew_extent *extent, const struct hew_extent *other);

/* Takes [start, start + size) out of a free extent that holds it.  The rest stays in its free list and keeps its age.
 * NULL: no memory for a struct. */
struct hew_extent *hew_split_cut(struct hew_page_heap *heap, struct hew_stock *stock, struct hew_extent *extent,
                                 uintptr_t start, size_t size);

/* Returns true if no neighbour in its region that the map knows overlaps it. */
bool hew_split_beside(const struct hew_extent *extent);

/* Bytes that threads are purging or passing to hooks without the lock. */
size_t hew_split_in_transit(const struct hew_page_heap *heap);

struct hew_stock *hew_split_stock_of(struct hew_page_heap *heap, unsigned state);

/* Returns the free extent that begins where `extent` ends, in the same region; NULL when there is none. */
struct hew_extent *hew_split_free_behind(struct hew_extent *extent);

/* The same for one that ends where `extent` begins. */
struct hew_extent *hew_split_free_before(struct hew_extent *extent);

/* Puts a free extent into `stock` as its newest, coalesced with neighbours in the same free list. */
void hew_split_insert(struct hew_page_heap *heap, struct hew_stock *stock, struct hew_extent *extent, unsigned state);

/* The same, but coalescing waits for hew_split_merge(): the next request of this size gets the extent unchanged. */
void hew_split_insert_unmerged(struct hew_stock *stock, struct hew_extent *extent, unsigned state);

/* Coalesces all neighbours in `stock`.  False: there was nothing to do. */
bool hew_split_merge(struct hew_page_heap *heap, struct hew_stock *stock);

#endif

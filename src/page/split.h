/* SPDX-License-Identifier: MIT */
/*
 * split: extent structs, the boundary marks in the extent map, and merging with free neighbours.
 *
 * Called    under the page heap's lock.
 */
#ifndef HEW_PAGE_SPLIT_H
#define HEW_PAGE_SPLIT_H

#include "page/heap.h"

/* A struct for [address, address + size) that inherits region, arena and state from `from`.  NULL: no memory. */
struct hew_extent *hew_split_new_extent(struct hew_page_heap *heap, const struct hew_extent *from, uintptr_t address,
                                        size_t size);

/* Under the lock: an extent that is in no stock is worked on without the lock from now on, by the caller. */
HEW_INLINE void
hew_page_enter_transit(struct hew_page_heap *heap, struct hew_extent *extent)
{
    extent->free.worker = hew_thread_token();
    hew_list_push_back(&heap->transit, &extent->free.age);
}

/* Under the lock. */
HEW_INLINE void
hew_page_add_active(struct hew_page_heap *heap, ptrdiff_t bytes)
{
    HEW_ASSERT(1, bytes >= 0 || heap->counts.active >= (size_t)-bytes);
    heap->counts.active += (size_t)bytes;
    __atomic_store_n(&heap->active_pages, heap->counts.active / HEW_PAGE, __ATOMIC_RELAXED);
}

/* The struct is unused again. */
void hew_split_drop_extent(struct hew_page_heap *heap, struct hew_extent *extent);

/* The extent map's entries for the first and the last page: how neighbours find each other. */
void hew_split_mark_ends(struct hew_extent *extent);

/* Nothing is there any more: the range is about to leave, or has left, the process's map. */
void hew_split_forget_ends(struct hew_extent *extent);

/* Whether the two lie in one mapping of one heap.  `other` may be NULL, stale or another heap's. */
bool hew_split_joinable(const struct hew_extent *extent, const struct hew_extent *other);

/* Takes [start, start + size) out of a free extent that holds it; the rest stays in its stock, as old as before.  NULL: no
 * memory for a struct. */
struct hew_extent *hew_split_cut(struct hew_page_heap *heap, struct hew_stock *stock, struct hew_extent *extent,
                                 uintptr_t start, size_t size);

/* Neither neighbour of its region reaches into it, as far as the map knows them. */
bool hew_split_beside(const struct hew_extent *extent);

/* Bytes that somebody purges, or asks hooks about, without the lock. */
size_t hew_split_in_transit(const struct hew_page_heap *heap);

struct hew_stock *hew_split_stock_of(struct hew_page_heap *heap, unsigned state);

/* The free extent that begins where `extent` ends, in the same region; NULL when there is none. */
struct hew_extent *hew_split_free_behind(struct hew_extent *extent);

/* The same for one that ends where `extent` begins. */
struct hew_extent *hew_split_free_before(struct hew_extent *extent);

/* Puts a free extent into `stock` as its newest, merged with the neighbours that are in the same stock. */
void hew_split_insert(struct hew_page_heap *heap, struct hew_stock *stock, struct hew_extent *extent, unsigned state);

/* The same, but merging waits for hew_split_merge(): whoever asks for the same size again gets it as it is. */
void hew_split_insert_unmerged(struct hew_stock *stock, struct hew_extent *extent, unsigned state);

/* All neighbours in `stock` become one.  False: there was nothing to do. */
bool hew_split_merge(struct hew_page_heap *heap, struct hew_stock *stock);

#endif

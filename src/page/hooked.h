/* SPDX-License-Identifier: MIT */
/*
 * hooked: what a page heap does in other ways while it has hooks: growth, cutting, merging, and giving back.
 *
 * Promises  a hook's refusal is respected: what may not be split is used whole or not at all, what may not be merged
 *           stays two extents, and what can be given back in no way is kept for the next request.
 * Locks     called under the heap's lock unless stated; the lock is dropped around each hook.  An extent that a hook looks
 *           at is in transit for that time, in no stock, so that nobody else can touch it.
 * Why       heaps without hooks pay one test of heap->hooks in each operation and nothing else.
 */
#ifndef HEW_PAGE_HOOKED_H
#define HEW_PAGE_HOOKED_H

#include "page/heap.h"
#include "page/split.h"

/* An extent of `size` bytes at a multiple of `alignment`, in no stock, ->zeroed set; NULL without memory. */
struct hew_extent *hew_hooked_take(struct hew_page_heap *heap, size_t size, size_t alignment);

/* Puts an extent that is in no stock into the one of `state`, merged with its neighbours there as far as hooks allow. */
void hew_hooked_insert(struct hew_page_heap *heap, struct hew_extent *extent, unsigned state);

/* What comes back to a heap, with hooks or without, is dirty. */
HEW_INLINE void
hew_hooked_insert_dirty(struct hew_page_heap *heap, struct hew_extent *extent)
{
    if (HEW_LIKELY(heap->hooks == NULL)) {
        hew_split_insert_unmerged(&heap->dirty, extent, HEW_EXTENT_DIRTY);
    } else {
        hew_hooked_insert(heap, extent, HEW_EXTENT_DIRTY);
    }
}

/* Grows an active extent by `more` bytes of the free one behind it.  False: nothing has changed. */
bool hew_hooked_grow(struct hew_page_heap *heap, struct hew_extent *extent, struct hew_extent *behind, size_t more);

/* Cuts an active extent; the tail, in no stock; NULL when that is refused. */
struct hew_extent *hew_hooked_cut_tail(struct hew_page_heap *heap, struct hew_extent *extent, size_t size);

/* Whether extents may be cut without asking. */
bool hew_hooked_cuts_freely(const struct hew_page_heap *heap);

/*
 * Without the lock: gives up what an extent in transit holds: lazily if `to` is HEW_EXTENT_MUZZY, else for good.  Its
 * new state; HEW_EXTENT_UNUSED: the address range is gone.
 */
unsigned hew_hooked_release(struct hew_extent_hooks *hooks, struct hew_extent *extent, unsigned from, unsigned to);

/* Without the lock: the address range of an extent in no stock is given back for good. */
void hew_hooked_destroy(struct hew_extent_hooks *hooks, struct hew_extent *extent);

#endif

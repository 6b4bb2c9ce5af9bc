/* SPDX-License-Identifier: MIT */
/*
 * hooked: page heap operations for heaps with extent hooks: growth, splitting, coalescing, and returning memory.
 *
 * Promises  a hook's refusal is respected.  An extent that may not be split is used whole or not at all; one that may
 *           not be merged stays separate; one that cannot be returned in any way is kept for the next request.
 * Locks     called under the heap's lock unless stated; the lock is dropped around each hook.  While a hook works on an
 *           extent, that extent is in transit, in no free list, so that no other thread can touch it.
 * Why       heaps without hooks pay one test of heap->hooks in each operation and nothing else.
 */
#ifndef HEW_PAGE_HOOKED_H
#define HEW_PAGE_HOOKED_H

#include "page/heap.h"
#include "page/split.h"

/* Allocates an extent of `size` bytes at a multiple of `alignment`, in no free list, with ->zeroed set.  NULL without
 * memory. */
struct hew_extent *hew_hooked_take(struct hew_page_heap *heap, size_t size, size_t alignment);

/* Inserts an extent that is in no free list into the one of `state`, coalesced with its neighbours there as far as
 * hooks allow. */
void hew_hooked_insert(struct hew_page_heap *heap, struct hew_extent *extent, unsigned state);

/* Freed extents are dirty, in heaps with and without hooks. */
HEW_INLINE void
hew_hooked_insert_dirty(struct hew_page_heap *heap, struct hew_extent *extent)
{
    if (HEW_LIKELY(heap->hooks == NULL)) {
        hew_split_insert_unmerged(&heap->dirty, extent, HEW_EXTENT_DIRTY);
    } else {
        hew_hooked_insert(heap, extent, HEW_EXTENT_DIRTY);
    }
}

/* Grows an active extent by `more` bytes of the free extent behind it.  False: nothing has changed. */
bool hew_hooked_grow(struct hew_page_heap *heap, struct hew_extent *extent, struct hew_extent *behind, size_t more);

/* Cuts an active extent.  Returns the tail, in no free list; NULL if that is refused. */
struct hew_extent *hew_hooked_cut_tail(struct hew_page_heap *heap, struct hew_extent *extent, size_t size);

/* Returns whether extents may be cut without calling a hook. */
bool hew_hooked_cuts_freely(const struct hew_page_heap *heap);

/*
 * Without the lock.  Purges an extent in transit: lazily if `to` is HEW_EXTENT_MUZZY, otherwise for good.  Returns its
 * new state; HEW_EXTENT_UNUSED means that the address range is gone.
 */
unsigned hew_hooked_release(struct hew_extent_hooks *hooks, struct hew_extent *extent, unsigned from, unsigned to);

/* Without the lock.  Returns the address range of an extent in no free list for good. */
void hew_hooked_destroy(struct hew_extent_hooks *hooks, struct hew_extent *extent);

#endif

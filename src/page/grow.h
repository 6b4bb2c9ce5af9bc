/* SPDX-License-Identifier: MIT */
/*
 * grow: new mappings for a page heap.  Called under its lock.
 */
#ifndef HEW_PAGE_GROW_H
#define HEW_PAGE_GROW_H

#include "base/options.h"
#include "page/heap.h"

#define HEW_GROW_FIRST ((size_t)1 << 20) /* a heap's first mapping; each later one is twice the size */

/* The least alignment of a mapping: granules and the system's pages. */
HEW_INLINE size_t
hew_grow_alignment(size_t wanted)
{
    size_t least = hew_bits_round_up(hew_system_page, HEW_GRAIN);
    return wanted < least ? least : wanted;
}

/* How much address space to map when `size` bytes are wanted: twice the last step, where possible. */
size_t hew_grow_step(const struct hew_page_heap *heap, size_t size);
void hew_grow_note_step(struct hew_page_heap *heap);

/* Makes the extent a region of its own, which coalesces with no other. */
void hew_grow_set_apart(struct hew_extent *extent);

/* Makes an extent, in no free list, for the mapping that `model` describes, as a region of its own.  Returns NULL
 * without memory for bookkeeping; the caller then still owns the mapping. */
struct hew_extent *hew_grow_enter(struct hew_page_heap *heap, const struct hew_extent *model);

/* Maps a new region: one retained free extent with room for `size` bytes at a multiple of `alignment`.  Returns NULL
 * when the system refused even the smallest size that would do. */
struct hew_extent *hew_grow_map(struct hew_page_heap *heap, size_t size, size_t alignment);

#endif

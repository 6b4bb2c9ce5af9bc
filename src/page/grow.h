/* SPDX-License-Identifier: MIT */
/*
 * grow: new mappings for a page heap.  Called under its lock.
 */
#ifndef HEW_PAGE_GROW_H
#define HEW_PAGE_GROW_H

#include "base/options.h"
#include "page/heap.h"

#define HEW_GROW_FIRST ((size_t)1 << 20) /* a heap's first mapping; each later one is twice the last */

/* How much address space to ask for when `size` bytes are wanted: twice the last step, while there is a choice. */
size_t hew_grow_step(const struct hew_page_heap *heap, size_t size);
void hew_grow_note_step(struct hew_page_heap *heap);

/* The extent is a region of its own from now on, which merges with no other. */
void hew_grow_set_apart(struct hew_extent *extent);

/* An extent, in no stock, for the mapping that `model` describes, which is a region of its own from now on.  NULL: no
 * memory for bookkeeping; the mapping is still the caller's. */
struct hew_extent *hew_grow_enter(struct hew_page_heap *heap, const struct hew_extent *model);

/* A new region, one free extent in the retained stock in which `size` bytes fit at a multiple of `alignment`.  NULL when
 * the system refused even the least that would do. */
struct hew_extent *hew_grow_map(struct hew_page_heap *heap, size_t size, size_t alignment);

#endif

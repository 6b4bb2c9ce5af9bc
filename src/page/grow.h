/* SPDX-License-Identifier: MIT */
/*
 * grow: new mappings for a page heap.  Called under its lock.
 */
#ifndef HEW_PAGE_GROW_H
#define HEW_PAGE_GROW_H

#include "page/heap.h"

/* A new region, one free extent in the retained pool in which `size` bytes fit at a multiple of `alignment`.  NULL when
 * the system refused even the least that would do. */
struct hew_extent *hew_grow_map(struct hew_page_heap *heap, size_t size, size_t alignment);

#endif

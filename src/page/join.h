/* SPDX-License-Identifier: MIT */
/*
 * join: a request that no pages with memory in them can hold alone, served by some that are and by the address space
 * around them.  What a program touches of it is less new memory than a fresh place would be.
 *
 *     before            after                        dirty pages are used as they are; the retained ones around them
 *     | retained |dirty| retained |   ->   | retained |  taken  | ret.|      are cut to what is missing
 *
 * Called    under the page heap's lock.  Not for heaps with hooks.
 */
#ifndef HEW_PAGE_JOIN_H
#define HEW_PAGE_JOIN_H

#include "page/heap.h"

/* An extent of `size` bytes at a multiple of `alignment` that is dirty in part, in no stock; `*fresh` bytes at its end read as
 * zeros.  NULL when none of the largest dirty extents has room around it. */
struct hew_extent *hew_join_take(struct hew_page_heap *heap, size_t size, size_t alignment, size_t *fresh);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * join: coalesce free neighbours in different states into one extent.  If no extent with memory is large enough, a
 * request is served by one of those and the free pages around it.  Before the heap maps address space, it uses free
 * neighbours together.  The program then touches less new memory than at a fresh place.
 *
 * before                    after                   dirty pages are used as they are; surplus at the ends is cut off
 * | retained |dirty| ret. |   ->   | ret. |  taken  |
 *
 * Called    under the page heap's lock.  Not for heaps with hooks.
 */
#ifndef HEW_PAGE_JOIN_H
#define HEW_PAGE_JOIN_H

#include "page/heap.h"

/* Allocates an extent of `size` bytes at a multiple of `alignment`, in no free list: one of the largest extents of
 * `stock`, plus free pages around it.  Its state is retained if all of it is, otherwise dirty; `*fresh` bytes at its
 * end read as zeros.  NULL when none fits. */
struct hew_extent *hew_join_take(struct hew_page_heap *heap, struct hew_stock *stock, size_t size, size_t alignment,
                                 size_t *fresh);

/* Grows an active extent by the `more` bytes behind it, if that many adjacent bytes are free.  False: nothing has
 * changed. */
bool hew_join_grow(struct hew_page_heap *heap, struct hew_extent *extent, size_t more);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * join: neighbours in different states become one extent: a request that no pages with memory in them can hold alone is served by
 * some that are and by what is free around them, and before address space is mapped, what is free together is used.  What a program
 * touches of it is less new memory than a fresh place would be.
 *
 *     before                    after                   dirty pages are used as they are; what lies at the ends is cut
 *     | retained |dirty| ret. |   ->   | ret. |  taken  |
 *
 * Called    under the page heap's lock.  Not for heaps with hooks.
 */
#ifndef HEW_PAGE_JOIN_H
#define HEW_PAGE_JOIN_H

#include "page/heap.h"

/* An extent of `size` bytes at a multiple of `alignment`, in no stock: some of it is one of the largest of `stock`, the rest is free
 * around that.  Retained if all of it is, else dirty; `*fresh` bytes at its end read as zeros.  NULL when there is no room. */
struct hew_extent *hew_join_take(struct hew_page_heap *heap, struct hew_stock *stock, size_t size, size_t alignment,
                                 size_t *fresh);

/* An active extent takes `more` bytes behind it, if so many are free together.  False: nothing has changed. */
bool hew_join_grow(struct hew_page_heap *heap, struct hew_extent *extent, size_t more);

#endif

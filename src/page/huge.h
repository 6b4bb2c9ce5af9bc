/* SPDX-License-Identifier: MIT */
/*
 * huge: which memory of a page heap asks for huge pages, and when it stops asking.
 *
 * With thp:default a new region asks if three conditions hold.  Its heap uses thp_threshold bytes, earlier memory has
 * proved dense, and the region is not made for one request that is large beside the heap.  Regions fill from their
 * lowest address, so about one huge page per heap is resident before it is used.  The first part of each region keeps
 * small pages: there the next region measures how much of the allocated memory has been touched.
 *
 * Promises  a wholly idle huge page is returned whole, before smaller pieces are.  A region that has returned a part of
 *           a huge page asks for no more of them; otherwise the system would in time make the rest of it resident
 *           again.
 * Called    under the heap's lock, except hew_huge_advise().
 */
#ifndef HEW_PAGE_HUGE_H
#define HEW_PAGE_HUGE_H

#include "base/options.h"
#include "page/heap.h"

#define HEW_HUGE_PAGE ((size_t)2 << 20)

/* Applies thp:always or thp:never to a new mapping. */
void hew_huge_advise(void *memory, size_t size, enum hew_thp thp);

/* The same for a new region, in no free list yet; with thp:default the heap chooses.  The region serves a request of
 * `wanted` bytes. */
void hew_huge_begin(struct hew_page_heap *heap, struct hew_extent *region, size_t wanted);

/* Finds the highest whole huge pages in a free extent, at most `most` bytes of them: stores their start, returns their
 * bytes. 0: there are none. */
size_t hew_huge_within(const struct hew_extent *extent, size_t most, uintptr_t *start);

/* Stops sampling resident memory; from then on no heap chooses huge pages. */
void hew_huge_look_no_more(void);

/* The extent and the adjacent memory in its region that asked for huge pages stop asking. */
void hew_huge_forgo(struct hew_extent *extent);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * huge: which memory of a page heap asks the system for huge pages, and when it no longer does.
 *
 * With thp:default a new region asks when its heap uses thp_threshold bytes, when it is not made for one request that is
 * large beside the heap, and when memory taken before has proved dense.  Regions fill from their lowest address, so that
 * about one huge page a heap is resident before it is used.  The first part of each region keeps small pages: there the
 * next region learns how much of what was handed out has been touched.
 *
 * Promises  a huge page that is wholly idle goes back whole, before smaller pieces do; a region that has given a part of
 *           one back asks for no more of them, or the system would in time make the rest of it resident again.
 * Called    under the heap's lock, but for hew_huge_advise().
 */
#ifndef HEW_PAGE_HUGE_H
#define HEW_PAGE_HUGE_H

#include "base/options.h"
#include "page/heap.h"

#define HEW_HUGE_PAGE ((size_t)2 << 20)

/* What thp:always and thp:never ask for a new mapping. */
void hew_huge_advise(void *memory, size_t size, enum hew_thp thp);

/* The same for a new region, in no stock yet, or what the heap chooses when it is for a request of `wanted` bytes. */
void hew_huge_begin(struct hew_page_heap *heap, struct hew_extent *region, size_t wanted);

/* The highest huge pages that lie wholly in a free extent, no more than `most` bytes of them: where they begin, and how
 * many bytes.  0: there are none. */
size_t hew_huge_within(const struct hew_extent *extent, size_t most, uintptr_t *start);

/* What is resident is not looked at from now on; so no heap chooses huge pages. */
void hew_huge_look_no_more(void);

/* The extent asks no more, nor does what lies around it in its region and asked. */
void hew_huge_forgo(struct hew_extent *extent);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * gather: dirty pages from elsewhere, moved into a large extent that would otherwise be memory touched for the first time.
 *
 * Promises  the contents of other extents stay what they are.  What moved from reads as zeros and is retained.
 * Locks     takes the heap's lock for the choice and for the return; the system is asked between the two, with the pieces in transit.
 * Not here  the system call and its refusals: os/memory.c.
 */
#ifndef HEW_PAGE_GATHER_H
#define HEW_PAGE_GATHER_H

#include "page/heap.h"

/* Of fewer fresh bytes the faults cost too little. */
#define HEW_GATHER_LEAST ((size_t)256 << 10)

/*
 * Fills what is fresh of an active large extent, which the caller alone knows of and which has no guard, with dirty pages of the
 * heap, if enough of them lie in large pieces.  ->zeroed and ->large.fresh tell afterwards what is left.  False: some of the extent is
 * lost, and it is hidden; it may only be abandoned.
 */
bool hew_page_gather(struct hew_page_heap *heap, struct hew_extent *extent);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * gather: fill a new large extent with dirty pages from elsewhere (mremap), so that the program touches less fresh
 * memory.
 *
 * Promises  the contents of other extents do not change.  The ranges that pages left read as zeros and are retained.
 * Locks     takes the heap's lock for the choice and for the return.  In between it calls the system without the lock,
 *           with the pieces in transit.
 * Not here  the system call and its refusals: os/memory.c.
 */
#ifndef HEW_PAGE_GATHER_H
#define HEW_PAGE_GATHER_H

#include "page/heap.h"

/* Below this many fresh bytes, page faults cost too little to be worth it. */
#define HEW_GATHER_LEAST ((size_t)256 << 10)

/*
 * Fills the fresh part of an active large extent with dirty pages of the heap, if enough of them lie in large pieces.
 * Only the caller may know the extent, and it has no guard page.  Afterwards ->zeroed and ->large.fresh describe what
 * is still fresh.  Returns false if a part of the extent is lost: the extent is hidden, and the caller may only abandon
 * it.
 */
bool hew_page_gather(struct hew_page_heap *heap, struct hew_extent *extent);

#endif

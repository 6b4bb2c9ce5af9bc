/* SPDX-License-Identifier: MIT */
/*
 * move: transfer the pages of one active extent to another.
 *
 * Locks     the heaps' own, for the record of earlier moves; the system is called without them.
 * Not here  moving free pages: gather.h.
 */
#ifndef HEW_PAGE_MOVE_H
#define HEW_PAGE_MOVE_H

#include "page/heap.h"

/*
 * Moves the pages of `from`, an extent of `source`, to the front of `to` (at least as large), one of `target`.  What
 * the system does not move is copied in parts, so that two full copies never exist at once.  `to` is large, and only
 * the caller knows it.  Both stay active; `from` reads as zeros afterwards, and has no memory unless the system refused
 * to take it.  Not for heaps with hooks.  HEW_OS_NOT_MOVED: nothing has changed, since this system moves no pages or
 * they lie in the data segment.  HEW_OS_PLACE_LOST: `from` is unchanged; `to` is hidden, and the caller may only
 * abandon it.
 */
enum hew_os_moved hew_page_move(struct hew_page_heap *source, struct hew_extent *from, struct hew_page_heap *target,
                                struct hew_extent *to);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * move: the pages of one active extent become another's.
 *
 * Locks     the heaps' own, for what is known of earlier moves; the system is asked without.
 * Not here  pages that are free: gather.h.
 */
#ifndef HEW_PAGE_MOVE_H
#define HEW_PAGE_MOVE_H

#include "page/heap.h"

/*
 * Moves the pages of `from`, an extent of `source`, to the front of `to` (at least as large), one of `target`; what the system does not
 * move is copied, in parts, so that no two copies stand at once.  `to` is large, and nobody else knows of it.  Both stay active; `from`
 * reads as zeros afterwards, and has no memory unless the system refused to take it.  Not for heaps with hooks.  HEW_OS_NOT_MOVED:
 * nothing has changed, since this system moves no pages or the data segment does not let them go.  HEW_OS_PLACE_LOST: `from` is as it
 * was, `to` is hidden and may only be abandoned.
 */
enum hew_os_moved hew_page_move(struct hew_page_heap *source, struct hew_extent *from, struct hew_page_heap *target,
                                struct hew_extent *to);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * lend: idle pages of one automatic arena for a request of another that would else touch fresh memory.
 *
 * Owns      the table of the heaps that lend to each other: automatic arenas', which never end.
 * Promises  what was borrowed is in no stock but the owner's: it comes home when it is given, whole or in parts, and merges with its
 *           neighbours there.  While it is out it is counted in the borrower's heap, and its region number is one of its own, so nobody
 *           takes it for a neighbour.
 * Locks     the borrower's is held while another heap's is tried, never waited for; on the way home none is held but the owner's.
 * Why       what threads pass on to each other lies idle in its maker's arena while the arena that needs memory asks the system for
 *           more: the sum of the arenas' peaks instead of the peak of their sum (decision 0055).
 */
#ifndef HEW_PAGE_LEND_H
#define HEW_PAGE_LEND_H

#include "page/heap.h"

/* The heap lends and borrows from now on.  Under the lock that guards the making of arenas. */
void hew_lend_join(struct hew_page_heap *heap);

/* Heaps that have joined.  Written under that lock, with release after their entries in the table; acquire when it is read. */
extern _Atomic unsigned hew_lend_count;

/* Whether both heaps' memory is of one kind, and no hook has a say in it.  With the lock of either, or as a hint. */
bool hew_lend_are_alike(const struct hew_page_heap *one, const struct hew_page_heap *other);

struct hew_extent *hew_lend_take_other(struct hew_page_heap *borrower, size_t size, size_t alignment);

/* Under the borrower's lock: an extent of `size` bytes at a multiple of `alignment`, out of another heap's dirty pages; in no stock.
 * NULL: nobody has one to spare. */
HEW_INLINE struct hew_extent *
hew_lend_take(struct hew_page_heap *borrower, size_t size, size_t alignment)
{
    bool alone = atomic_load_explicit(&hew_lend_count, memory_order_acquire) < 2 || borrower->lender == 0;
    return HEW_LIKELY(alone) ? NULL : hew_lend_take_other(borrower, size, alignment);
}

/* Under the borrower's lock: a borrowed extent grows by the owner's free pages behind it.  False: nothing has changed. */
bool hew_lend_grow(struct hew_page_heap *borrower, struct hew_extent *extent, size_t more);

/* Under the borrower's lock: an extent that is no longer active leaves its counts; false when it stays for good, since pages were
 * moved into it. */
bool hew_lend_leave(struct hew_page_heap *borrower, struct hew_extent *extent);

/* Without locks: an extent that has left is its owner's, whose lock is held now, and dirty. */
struct hew_page_heap *hew_lend_come_home(struct hew_extent *extent);

#endif

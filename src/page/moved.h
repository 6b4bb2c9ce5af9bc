/* SPDX-License-Identifier: MIT */
/*
 * moved: which of a heap's pages mremap has moved there.  To the kernel each such piece is a separate mapping.  A
 * process may have only a limited number of mappings, and one call moves pages of one mapping only.
 *
 * Owns      the pieces, sorted by address, until their memory has returned to the system and they are mapped again.
 * Promises  at most HEW_MOVED_MOST pieces in a heap and HEW_MOVED_ALL in the process; each costs at most two mappings.
 * Called    under the heap's lock.
 * Not here  moving: gather.c.  Mapping again: purge.c.
 */
#ifndef HEW_PAGE_MOVED_H
#define HEW_PAGE_MOVED_H

#include "base/compiler.h"

#define HEW_MOVED_MOST 256 /* one page of records */
#define HEW_MOVED_ALL 512  /* 1,024 mappings: 1/64 of what Linux allows by default */

struct hew_moved_piece {
    uintptr_t start, end;
};

struct hew_moved {
    struct hew_moved_piece *pieces; /* NULL until the first piece */
    unsigned count;
    unsigned expected; /* pieces reserved besides, for moves in progress */
};

/* Pieces to reserve for each run of pages about to move: it enters the middle of one piece and leaves the middle of
 * another. */
#define HEW_MOVED_ROOM 3

/* Reserves pieces for `runs` that are about to move without the lock.  Returns false if too few are left. */
bool hew_moved_expect(struct hew_moved *moved, unsigned runs);

/* Ends the reservation of that many runs: they have arrived, or will not. */
void hew_moved_expect_no_more(struct hew_moved *moved, unsigned runs);

/* Records the range as a piece, from a run that was reserved until now. */
void hew_moved_add(struct hew_moved *moved, uintptr_t start, uintptr_t end);

/* Clears the range: it is a part of the heap's original mappings again, or no longer there. */
void hew_moved_clear(struct hew_moved *moved, uintptr_t start, uintptr_t end);

/* Returns whether a piece overlaps the range. */
bool hew_moved_touches(const struct hew_moved *moved, uintptr_t start, uintptr_t end);

/* Returns where the mapping that holds `address` ends, or `end`, whichever comes first. */
uintptr_t hew_moved_until(const struct hew_moved *moved, uintptr_t address, uintptr_t end);

/* In a fork's child: ends the reservations of threads that do not exist here. */
void hew_moved_after_fork(struct hew_moved *moved);

#endif

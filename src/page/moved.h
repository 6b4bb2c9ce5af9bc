/* SPDX-License-Identifier: MIT */
/*
 * moved: which of a heap's pages came there by mremap.  To the kernel each such piece is a mapping of its own, of which a process may
 * have only so many, and one call moves pages of one mapping only.
 *
 * Owns      the pieces, sorted by address, until what they hold has gone back to the system and is mapped anew.
 * Promises  no more than HEW_MOVED_MOST pieces in a heap and HEW_MOVED_ALL in the process; each costs two mappings at the most.
 * Called    under the heap's lock.
 * Not here  moving: gather.c.  Mapping anew: purge.c.
 */
#ifndef HEW_PAGE_MOVED_H
#define HEW_PAGE_MOVED_H

#include "base/compiler.h"

#define HEW_MOVED_MOST 256 /* a page of them */
#define HEW_MOVED_ALL 512  /* 1,024 mappings: an eighth of an eighth of what Linux allows by default */

struct hew_moved_piece {
    uintptr_t start, end;
};

struct hew_moved {
    struct hew_moved_piece *pieces; /* NULL until the first one comes */
    unsigned count;
    unsigned expected; /* pieces that there is room for besides: of those who move pages at the moment */
};

/* For each run of pages that is about to move: it comes into the middle of one piece, and leaves the middle of another. */
#define HEW_MOVED_ROOM 3

/* Keeps room for `runs` that are about to move, without the lock; false when there is not enough. */
bool hew_moved_expect(struct hew_moved *moved, unsigned runs);

/* So many of them have come, or will not come. */
void hew_moved_expect_no_more(struct hew_moved *moved, unsigned runs);

/* The range becomes a piece: of a run that was expected until now. */
void hew_moved_add(struct hew_moved *moved, uintptr_t start, uintptr_t end);

/* The range is a part of the heap's first mappings again, or no longer there. */
void hew_moved_clear(struct hew_moved *moved, uintptr_t start, uintptr_t end);

/* Whether some piece lies in the range in part. */
bool hew_moved_touches(const struct hew_moved *moved, uintptr_t start, uintptr_t end);

/* Where the mapping that holds `address` ends, or `end`, whichever comes first. */
uintptr_t hew_moved_until(const struct hew_moved *moved, uintptr_t address, uintptr_t end);

/* In a fork's child: who was about to move pages is not here. */
void hew_moved_after_fork(struct hew_moved *moved);

#endif

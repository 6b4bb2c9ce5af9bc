/* SPDX-License-Identifier: MIT */
/*
 * ghost: how much a depot may hold beyond its usual room, by what it had no room for and was wanted again.
 *
 * Owns      for each depot and class how many objects went home for want of room: a ghost of the list that they would be on.
 * Promises  A thread that takes fresh objects of a class of which some are away has wanted them again: more room would have served it.  After
 *           enough of these bytes the depot gets more room, in steps that double.
 *           What that costs is measured, too: page heaps that take memory from the system while the depot holds more than usual
 *           might have used what lies there.  Once that is a small part of the heap, the room goes, and the next step takes twice as many
 *           bytes that were wanted again.  Memory that page heaps take while the depot holds no more than usual is needed anyhow,
 *           and makes up for that cost.
 *           What threads want that hardly free what they make is asked for, and is there once somebody has granted it: they make
 *           for others, who may not gain by what makes them faster.
 *           Relaxed numbers that any thread writes: two at once may lose what one of them has counted.
 * Not here  what becomes of objects for which there is no room any more: depot.c.
 * Why       ghost lists: N. Megiddo and D. Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache", FAST 2003.  Measured in
 *           docs/decisions/0082-room-for-what-is-wanted-again.md.
 */
#ifndef HEW_CACHE_GHOST_H
#define HEW_CACHE_GHOST_H

#include "base/size_class.h"

#include <stdatomic.h>

struct hew_ghost {
    _Atomic size_t room;       /* bytes beyond the usual */
    _Atomic size_t wanted;     /* bytes wanted again since the room changed last, */
    _Atomic size_t for_others; /* and those of them by threads that make for others */
    _Atomic size_t taken; /* from the system, by all page heaps, when that was looked at last: hew_page_taken_fresh */
    _Atomic size_t cost;  /* of that, bytes that may be due to the room, and are not needed yet */
    _Atomic bool paid;    /* some of that came since the room changed last */
    _Atomic bool asks;    /* the room is for threads that make for others: it is there once it is granted */
    _Atomic uint32_t failures; /* steps that had to be taken back, but for those that went well since */
    _Atomic size_t away_bytes;
    _Atomic uint32_t away[HEW_CODES];
};

/* Bytes that the depot, one of so many, may hold beyond `usual`, the bytes that it usually may; it holds `held`.  Looks at what page heaps
 * have taken since, too. */
size_t hew_ghost_room(struct hew_ghost *ghost, size_t held, size_t usual, unsigned depots);

/* So many objects have gone home from the depot, which may hold `most` bytes. */
void hew_ghost_note_away(struct hew_ghost *ghost, unsigned code, unsigned count, size_t most);

/* So many had to be taken fresh, by a thread that makes them for others, or by another one. */
struct hew_ghost_wish {
    unsigned code, count;
    bool for_others;
};

/* Returns how many of them were away. */
unsigned hew_ghost_note_wanted(struct hew_ghost *ghost, struct hew_ghost_wish wish, size_t usual, unsigned depots);

/* Whether depots may have room beyond the usual: but for what is asked for; all of it; not for a moment, since somebody measures what
 * it is worth; or no, since it did not pay.  Their rooms do not change while they may not have them. */
enum hew_ghost_permission { HEW_GHOST_ALLOWED, HEW_GHOST_GRANTED, HEW_GHOST_SUSPENDED, HEW_GHOST_DENIED };

void hew_ghost_permit(enum hew_ghost_permission permission);
enum hew_ghost_permission hew_ghost_permitted(void);

/* Whether objects of the class are away. */
HEW_INLINE bool
hew_ghost_has_away(const struct hew_ghost *ghost, unsigned code)
{
    return atomic_load_explicit(&ghost->away[code], memory_order_relaxed) != 0;
}

/* The room as it is, or would be if it were granted, whether or not page heaps have grown since that was looked at. */
size_t hew_ghost_present_room(const struct hew_ghost *ghost, size_t usual);

/* Whether it is there once it is granted, and not before. */
HEW_INLINE bool
hew_ghost_asks(const struct hew_ghost *ghost)
{
    return atomic_load_explicit(&ghost->asks, memory_order_relaxed);
}

/* Whether the room is there.  For the time of a trial yes: windows with it and without take turns. */
bool hew_ghost_room_is_there(const struct hew_ghost *ghost);

#endif

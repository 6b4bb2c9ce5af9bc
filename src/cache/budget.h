/* SPDX-License-Identifier: MIT */
/*
 * budget: how much memory may lie free in caches, and how many objects a magazine may hold.
 *
 * Owns      the answer to "this class of this cache has run empty: how many objects may it hold?", and the arrays that
 *           magazines stand in.
 * Promises  three rules, unless the user has set how much a class holds:
 *           slow start      a magazine begins with a few objects and doubles each time that it has run empty, up to its class's
 *                           limit;
 *           shared room     a thread's magazines together hold at most its share of one budget, but for the first objects of
 *                           small classes; a class for which there is no room takes what is left;
 *           time            what is not used is given up (magazine.c, depot.c).
 * Called    by the owning thread.
 * Not here  what moves objects: magazine.c.
 * Why       docs/design/thread-cache.md.
 */
#ifndef HEW_CACHE_BUDGET_H
#define HEW_CACHE_BUDGET_H

#include "cache/cache.h"

#define HEW_BUDGET_OBJECTS_MAX 8191 /* objects of one class */
#define HEW_BUDGET_USUAL 100u       /* percent */
#define HEW_BUDGET_STEP ((size_t)32 << 10)

/* By class: how many objects a slot may hold by the settings, with HEW_SLOT_CHOSEN where the user has said so. */
const uint16_t *hew_budget_defaults(void);

/* How many where the user has said nothing. */
size_t hew_budget_usual(unsigned code);

/* What one thread's magazines may hold, in bytes: it falls as threads come. */
size_t hew_budget_share(void);

/* What one of so many depots may hold, in bytes. */
size_t hew_budget_depot(unsigned depots);

/*
 * What differs from the usual.  Relaxed: numbers that need not agree with each other.  Written at boot
 * and near a limit of memory; read at a miss.
 */
struct hew_budget_room {
    _Atomic bool unusual;    /* some other number is: else none of them need be looked at */
    _Atomic uint32_t share;  /* percent of what each thread's magazines may usually hold, */
    _Atomic uint32_t depots; /* and all depots */
    _Atomic size_t step;     /* bytes that one step brings from the slabs at most; and what a magazine that was never
                                empty grows to */
};
extern HEW_HIDDEN struct hew_budget_room hew_budget_room;

/* By any thread: percent of the usual from now on.  Magazines and depots that hold more give it up by their own rules of time. */
void hew_budget_set_share(unsigned percent);
void hew_budget_set_depots(unsigned percent);

/* A limit of memory is known from now on: hew_page_bound.caches is looked at. */
void hew_budget_note_limit(void);

HEW_INLINE size_t
hew_budget_step(void)
{
    return atomic_load_explicit(&hew_budget_room.step, memory_order_relaxed);
}

/* The objects that the class should hold now that it was found empty, or, `filled`, full: as many as before, or more. */
size_t hew_budget_next(const struct hew_slot *slot, unsigned code, bool filled);

/* How many objects of a class the share has room for. */
size_t hew_budget_left(const struct hew_slot *slot, unsigned code);

HEW_INLINE bool
hew_budget_is_chosen(const struct hew_slot *slot, unsigned code)
{
    return (slot->most[code] & HEW_SLOT_CHOSEN) != 0;
}

HEW_INLINE size_t
hew_budget_most(const struct hew_slot *slot, unsigned code)
{
    return slot->most[code] & ~HEW_SLOT_CHOSEN;
}

/* Bytes of so many objects. */
HEW_INLINE size_t
hew_budget_bytes(unsigned code, size_t objects)
{
    return objects * hew_slab_shapes[code].size;
}

/* How many whole objects so many bytes are. */
HEW_INLINE size_t
hew_budget_objects(unsigned code, size_t bytes)
{
    return (size_t)((unsigned __int128)bytes * hew_slab_shapes[code].reciprocal >> 64);
}

/* Objects that fill a cache line, 1 where one does: fresh ones go out by so many, so that two threads do not write to one line. */
HEW_INLINE unsigned
hew_budget_line(unsigned code)
{
    unsigned objects = (unsigned)hew_budget_objects(code, HEW_CACHE_LINE);
    return objects == 0 ? 1 : objects;
}

/* Whether the slot has room for so many objects of a class more, or the user has chosen how many it holds. */
HEW_INLINE bool
hew_budget_has_room(const struct hew_slot *slot, unsigned code, size_t more)
{
    return slot->granted + hew_budget_bytes(code, more) <= slot->share || hew_budget_is_chosen(slot, code);
}

#endif

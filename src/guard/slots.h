/* SPDX-License-Identifier: MIT */
/*
 * slots: places for guarded objects, and what is known about each object.
 *
 * Owns      a range of address space, reserved with the first object, and a description of each slot in hew's own
 *           memory.
 *
 *     | guard 16 KiB | 16 KiB: pages of the object, the rest guard | guard of the next slot ...   (64 KiB where pages are)
 *     slot                                                          slot + 32 KiB
 *
 * The object lies at the end of the second half (`high`), or at its beginning.  The rest of its pages is filled with a
 * pattern.  The second half of a free slot is guard as well.  Where the system has fences (MADV_GUARD_INSTALL), all
 * slots that were ever used are one mapping; elsewhere a live object is a mapping of its own, with one behind it.
 *
 * Promises  a freed slot waits until all others have been used: at least HEW_GUARD_SLOTS - HEW_GUARD_LIVE frees.  At
 *           most HEW_GUARD_LIVE objects, of four pages each, are in memory.  Thread-safe.
 * Locks     hew_guard_lock (rank: guard) guards the order of slots.  A slot's state says who owns the rest of it: a
 *           thread that changes it from FREE to OPENING, or from LIVE to CLOSING.
 */
#ifndef HEW_GUARD_SLOTS_H
#define HEW_GUARD_SLOTS_H

#include "base/size_class.h"
#include "os/mutex.h"

#define HEW_GUARD_SLOTS 1024u
#define HEW_GUARD_LIVE 256u
#define HEW_GUARD_FRAMES 16u
#define HEW_GUARD_SITES 1024u

enum hew_guard_state { HEW_GUARD_NEW, HEW_GUARD_OPENING, HEW_GUARD_IS_LIVE, HEW_GUARD_CLOSING, HEW_GUARD_GONE };

/* Who allocated or freed an object. */
struct hew_guard_stack {
    unsigned thread, depth;
    uintptr_t frames[HEW_GUARD_FRAMES];
};

struct hew_guard_slot {
    _Atomic uint32_t state; /* enum hew_guard_state.  A release store publishes the fields below */
    uint16_t requested, usable;
    bool high;
    bool was_protected;                /* the system once refused a fence: some of its pages may lack access */
    _Atomic bool asked;                /* the program knows the usable size, and may use all of it; relaxed */
    uintptr_t object;                  /* 0: never used */
    struct hew_guard_stack born, died; /* died: with state GONE only */
};

/* The range.  Both are 0 before the first object; written once, under the lock. */
extern uintptr_t hew_guard_base, hew_guard_end;
extern struct hew_mutex hew_guard_lock;

/* Reserves the range and enters it in the address map, if that was not tried before.  False: there is none. */
bool hew_guard_slots_begin(void);

/* Opens a slot for an object.  NULL: too many are live, or the system refused.  The caller publishes it. */
struct hew_guard_slot *hew_guard_slot_take(size_t requested, size_t usable, const struct hew_guard_stack *born);

/* Closes a slot in state CLOSING: from now on each access faults. */
void hew_guard_slot_close(struct hew_guard_slot *slot);

/* The slot around an address of the range; and the next one's, or the one before: NULL at the ends. */
struct hew_guard_slot *hew_guard_slot_of(uintptr_t address);
struct hew_guard_slot *hew_guard_slot_beside(struct hew_guard_slot *slot, int step);

/* What was found around an object; with `exact` also between the requested bytes and the usable ones. */
enum hew_guard_damage { HEW_GUARD_WHOLE, HEW_GUARD_BEFORE, HEW_GUARD_BEHIND };
enum hew_guard_damage hew_guard_slot_damage(const struct hew_guard_slot *slot, bool exact);

/* Whether an allocation at this call site is to be guarded now: always one that was seldom guarded, of others one in up
 * to 16; with `any` each.  Counts it then. */
bool hew_guard_site_is_wanted(const struct hew_guard_stack *stack, bool any);

struct hew_guard_usage {
    unsigned live, waiting; /* waiting: freed, and still inaccessible */
};
struct hew_guard_usage hew_guard_usage_now(void);

#endif

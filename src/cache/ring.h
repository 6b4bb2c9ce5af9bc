/* SPDX-License-Identifier: MIT */
/*
 * ring: free objects of one class in one depot, as addresses: the newest leave first, and cleaning takes the oldest.
 *
 * Owns      its places, a power of two of them, which grow and shrink with what is there.
 * Promises  malloc and free never wait for a mark: a thread that finds it held goes on elsewhere.  A holder that is preempted
 *           keeps others from one class of one depot alone.
 * Locks     the mark, held for some copies of words; of other locks only those of hew's own memory are taken under it.  To the gate of
 *           fork() it is a lock (os/gate.h).
 */
#ifndef HEW_CACHE_RING_H
#define HEW_CACHE_RING_H

#include "base/compiler.h"

#include <stdatomic.h>
#include <stddef.h>

/* A cache line for each, so that who works on one class does not take another's away. */
struct hew_ring {
    _Atomic uint32_t held; /* the mark: 1 while a thread works on it.  Guards all that follows */
    uint32_t oldest;       /* the place of the oldest */
    uint32_t count;        /* also looked at without the mark: relaxed */
    uint32_t least;        /* the fewest there were since it was looked after */
    uint32_t room;         /* places: a power of two, or 0.  Also looked at without the mark: relaxed */
    uint32_t refusals;     /* batches for which there was no room */
    void **slots;
    uint64_t takes, gives; /* batches that left, and came */
} HEW_ALIGNED(HEW_CACHE_LINE);

/* False: another thread has it, or a thread forks. */
bool hew_ring_hold(struct hew_ring *ring);
void hew_ring_hold_or_wait(struct hew_ring *ring);
void hew_ring_let_go(struct hew_ring *ring);

/* With the mark: up to `wanted` of the newest, the last one to be used first.  Returns how many. */
unsigned hew_ring_take(struct hew_ring *ring, void **objects, unsigned wanted);

/* With the mark: up to `most` of the oldest, but for the newest `keep`. */
unsigned hew_ring_take_oldest(struct hew_ring *ring, uint32_t keep, void **objects, unsigned most);

/* With the mark: all of them, or none, where there is no memory or the ring is as large as it may be.  The first one counts as the
 * oldest. */
bool hew_ring_put(struct hew_ring *ring, void *const *objects, unsigned count);

/* With the mark: whether it came last, and is still there. */
bool hew_ring_newest_is(const struct hew_ring *ring, const void *object);

/* With the mark: places that are not used go back. */
void hew_ring_shrink(struct hew_ring *ring);

/* With the mark: the address that came after so many others that are still there. */
HEW_INLINE void *
hew_ring_at(const struct hew_ring *ring, uint32_t place)
{
    return ring->slots[(ring->oldest + place) & (ring->room - 1)];
}

HEW_INLINE uint32_t
hew_ring_count(const struct hew_ring *ring)
{
    return __atomic_load_n(&ring->count, __ATOMIC_RELAXED);
}

/* Whether it has places, and so may hold something. */
HEW_INLINE bool
hew_ring_has_places(const struct hew_ring *ring)
{
    return __atomic_load_n(&ring->room, __ATOMIC_RELAXED) != 0;
}

#endif

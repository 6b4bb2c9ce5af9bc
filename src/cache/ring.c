/* SPDX-License-Identifier: MIT */
/* ring: `least` falls where objects leave, and is set anew when the ring is cleaned. */
#include "cache/ring.h"

#include "meta/memory.h"
#include "os/futex.h"
#include "os/gate.h"

#include <string.h>

#define ROOM_MIN 64u        /* places that a ring begins with, */
#define ROOM_MAX (1u << 15) /* and the most that it grows to */

/* While a thread forks, who holds none gets none, and who holds one gets done. */
bool
hew_ring_hold(struct hew_ring *ring)
{
    uint32_t none = 0; /* acquire: pairs with the release of hew_ring_let_go(); the rest of it is for the gate */
    hew_gate_count(1);
    if (!atomic_compare_exchange_strong_explicit(&ring->held, &none, 1, memory_order_seq_cst, memory_order_relaxed)) {
        hew_gate_count(-1);
        return false;
    }
    if (hew_gate_is_closed() && hew_gate_held == 1) {
        hew_ring_let_go(ring);
        return false;
    }
    return true;
}

void
hew_ring_hold_or_wait(struct hew_ring *ring)
{
    while (!hew_ring_hold(ring)) {
        if (hew_gate_is_closed() && hew_gate_held == 0) {
            hew_gate_await();
        } else {
            hew_futex_wait(&ring->held, 1, 1);
        }
    }
}

void
hew_ring_let_go(struct hew_ring *ring)
{
    atomic_store_explicit(&ring->held, 0, memory_order_release);
    hew_gate_count(-1);
}

static void
set_count(struct hew_ring *ring, uint32_t count)
{
    __atomic_store_n(&ring->count, count, __ATOMIC_RELAXED);
    ring->least = count < ring->least ? count : ring->least;
}

/* `count` addresses, from the one at `place` on. */
static void
read_from(const struct hew_ring *ring, uint32_t place, void **into, uint32_t count)
{
    uint32_t at = place & (ring->room - 1), straight = ring->room - at;
    straight = straight < count ? straight : count;
    memcpy(into, ring->slots + at, straight * sizeof *into);
    if (HEW_UNLIKELY(straight < count)) {
        memcpy(into + straight, ring->slots, (count - straight) * sizeof *into);
    }
}

static void
write_to(struct hew_ring *ring, uint32_t place, void *const *from, uint32_t count)
{
    uint32_t at = place & (ring->room - 1), straight = ring->room - at;
    straight = straight < count ? straight : count;
    memcpy(ring->slots + at, from, straight * sizeof *from);
    if (HEW_UNLIKELY(straight < count)) {
        memcpy(ring->slots, from + straight, (count - straight) * sizeof *from);
    }
}

unsigned
hew_ring_take(struct hew_ring *ring, void **objects, unsigned wanted)
{
    uint32_t count = ring->count, taken = count < wanted ? count : wanted;
    if (taken != 0) {
        read_from(ring, ring->oldest + count - taken, objects, taken);
        set_count(ring, count - taken);
        ring->takes++;
    }
    return taken;
}

unsigned
hew_ring_take_oldest(struct hew_ring *ring, uint32_t keep, void **objects, unsigned most)
{
    uint32_t count = ring->count, taken = count <= keep ? 0 : count - keep;
    taken = taken < most ? taken : most;
    if (taken != 0) {
        read_from(ring, ring->oldest, objects, taken);
        ring->oldest += taken;
        set_count(ring, count - taken);
    }
    return taken;
}

/* The objects move to `room` places.  False: no memory, they stay where they are. */
static bool
move_to(struct hew_ring *ring, uint32_t room)
{
    void **slots = hew_meta_take_raw(room * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    if (ring->slots != NULL) {
        read_from(ring, ring->oldest, slots, ring->count);
        hew_meta_give(ring->slots, ring->room * sizeof *slots);
    }
    ring->slots = slots;
    ring->oldest = 0;
    __atomic_store_n(&ring->room, room, __ATOMIC_RELAXED);
    return true;
}

/* False: as many as may be, or no memory. */
static bool
make_room(struct hew_ring *ring, unsigned more)
{
    uint32_t wanted = ring->count + more, room = ring->room;
    if (HEW_LIKELY(wanted <= room)) {
        return true;
    }
    for (room = room == 0 ? ROOM_MIN : room; room < wanted;) {
        room *= 2;
    }
    return room <= ROOM_MAX && move_to(ring, room);
}

bool
hew_ring_put(struct hew_ring *ring, void *const *objects, unsigned count)
{
    if (!make_room(ring, count)) {
        return false;
    }
    write_to(ring, ring->oldest + ring->count, objects, count);
    __atomic_store_n(&ring->count, ring->count + count, __ATOMIC_RELAXED);
    ring->gives++;
    return true;
}

bool
hew_ring_newest_is(const struct hew_ring *ring, const void *object)
{
    return ring->count != 0 && hew_ring_at(ring, ring->count - 1) == object;
}

void
hew_ring_shrink(struct hew_ring *ring)
{
    uint32_t room = ring->room;
    if (ring->count == 0 && room != 0) {
        hew_meta_give(ring->slots, room * sizeof *ring->slots);
        ring->slots = NULL;
        __atomic_store_n(&ring->room, 0, __ATOMIC_RELAXED);
    } else if (ring->count <= room / 8 && room > ROOM_MIN) {
        while (ring->count <= room / 4 && room > ROOM_MIN) {
            room /= 2;
        }
        move_to(ring, room);
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * depot: rings, since threads want the newest objects and whoever cleans up the oldest; one mark for all rings of a CPU, since
 * only one thread runs there at a time.
 */
#include "cache/depot.h"

#include "cache/budget.h"
#include "cache/owner.h"
#include "meta/memory.h"
#include "os/check.h"
#include "os/cpus.h"
#include "os/futex.h"
#include "os/gate.h"
#include "slab/describe.h"
#include "slab/large.h"

#include <string.h>

#define DEPOTS_MAX 256               /* CPUs beyond share one */
#define ROOM_MIN 64u                 /* places that a ring begins with, */
#define ROOM_MAX (1u << 15)          /* and the most that it grows to */
#define AT_ONCE 128u                 /* objects that the hand takes at a time: they are copied under the mark */
#define FIT_BYTES ((size_t)64 << 10) /* that a depot which holds too much gives back before fresh objects are taken */
#define LOOKS 8                      /* classes that the hand passes by in one go */
#define DUE_FROM ((size_t)8 << 20)   /* bytes of mappings from which on half a depot is worth a purger */

/* Addresses in a ring, so that the oldest can leave as easily as the newest. */
struct ring {
    void **slots;
    uint32_t oldest; /* the place of the oldest */
    uint32_t count;  /* also looked at without the mark: relaxed */
    uint32_t least;  /* the fewest there were since the hand came by */
    uint32_t room;   /* places: a power of two, or 0.  Also looked at without the mark: relaxed */
};

struct depot {
    _Atomic uint32_t held; /* the mark: 1 while somebody works on it.  Guards all that follows */
    size_t most;           /* bytes that it may hold, as of a moment ago */
    uint32_t hand;         /* the class whose objects that nobody needs are looked for next */
    struct hew_depot_counts counts;
    _Atomic uint32_t friend; /* without the mark, relaxed: where a batch was found that was not here */
    _Atomic uint64_t misses; /* likewise */
    struct ring ring[HEW_CODES];
} HEW_ALIGNED(HEW_CACHE_LINE);

static _Atomic unsigned made;      /* how many there are: relaxed */
static _Atomic unsigned made_past; /* one more than the highest number among them: relaxed, only grows */
static _Atomic(struct depot *) depots[DEPOTS_MAX]; /* made when something is to be put there, for good */

/* Among how many the CPUs are spread.  Only one thread: what it frees needs one depot, and no CPU need be asked for. */
static unsigned
in_use(void)
{
    unsigned most = hew_arena_limit();
    most = most < DEPOTS_MAX ? most : DEPOTS_MAX;
    return atomic_load_explicit(&hew_caches_alive, memory_order_relaxed) <= 1 ? 1 : most;
}

static struct depot *
depot_at(unsigned index)
{
    return atomic_load_explicit(&depots[index], memory_order_acquire); /* pairs with the release of depot_make() */
}

/* The mark is a lock to the gate: while a thread forks, who holds none gets none, and who holds one gets done. */
static bool
depot_hold(struct depot *depot)
{
    uint32_t nobody = 0; /* acquire: pairs with the release of depot_let_go(); the rest of it is for the gate */
    if (!atomic_compare_exchange_strong_explicit(&depot->held, &nobody, 1, memory_order_seq_cst,
                                                 memory_order_relaxed)) {
        return false;
    }
    if (hew_gate_is_closed() && hew_gate_held == 0) {
        atomic_store_explicit(&depot->held, 0, memory_order_release);
        return false;
    }
    hew_gate_held++;
    return true;
}

static void
depot_hold_or_wait(struct depot *depot)
{
    while (!depot_hold(depot)) {
        if (hew_gate_is_closed() && hew_gate_held == 0) {
            hew_gate_await();
        } else {
            hew_futex_wait(&depot->held, 1, 1);
        }
    }
}

static void
depot_let_go(struct depot *depot)
{
    hew_gate_held--;
    atomic_store_explicit(&depot->held, 0, memory_order_release);
}

/* With the mark: looked at without it, too. */
static void
depot_add_bytes(struct depot *depot, ptrdiff_t bytes)
{
    __atomic_store_n(&depot->counts.bytes, depot->counts.bytes + (size_t)bytes, __ATOMIC_RELAXED);
}

static uint32_t
ring_count(const struct ring *ring)
{
    return __atomic_load_n(&ring->count, __ATOMIC_RELAXED);
}

static void
ring_set_count(struct ring *ring, uint32_t count)
{
    __atomic_store_n(&ring->count, count, __ATOMIC_RELAXED);
}

/* With the mark: `count` addresses, from the one at `place` on. */
static void
ring_read(const struct ring *ring, uint32_t place, void **into, uint32_t count)
{
    uint32_t at = place & (ring->room - 1), straight = ring->room - at;
    straight = straight < count ? straight : count;
    memcpy(into, ring->slots + at, straight * sizeof *into);
    if (HEW_UNLIKELY(straight < count)) {
        memcpy(into + straight, ring->slots, (count - straight) * sizeof *into);
    }
}

static void
ring_write(struct ring *ring, uint32_t place, void *const *from, uint32_t count)
{
    uint32_t at = place & (ring->room - 1), straight = ring->room - at;
    straight = straight < count ? straight : count;
    memcpy(ring->slots + at, from, straight * sizeof *from);
    if (HEW_UNLIKELY(straight < count)) {
        memcpy(ring->slots, from + straight, (count - straight) * sizeof *from);
    }
}

static void
show_large(unsigned code, void *const *objects, unsigned count)
{
    for (unsigned i = 0; code > HEW_CODE_SMALL_LAST && i < count; i++) {
        hew_large_show(objects[i], code);
    }
}

/* Without the mark: what lay here goes back to its owners. */
static void
send_home(unsigned code, void **objects, unsigned count)
{
    show_large(code, objects, count);
    hew_owner_give(code, objects, count);
}

static HEW_NOINLINE struct depot *
depot_make(unsigned index)
{
    struct depot *nobody = NULL, *depot = hew_meta_take(sizeof *depot);
    if (depot != NULL && !atomic_compare_exchange_strong_explicit(&depots[index], &nobody, depot, memory_order_acq_rel,
                                                                  memory_order_acquire)) {
        hew_meta_give(depot, sizeof *depot);
        return nobody;
    }
    if (depot != NULL) {
        atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
        unsigned past = atomic_load_explicit(&made_past, memory_order_relaxed);
        while (past <= index && !atomic_compare_exchange_weak_explicit(&made_past, &past, index + 1,
                                                                       memory_order_relaxed, memory_order_relaxed)) {
        }
    }
    return depot;
}

/* With the mark: what it holds is what the rings hold. */
static bool
depot_valid(const struct depot *depot)
{
    size_t bytes = 0;
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        const struct ring *ring = &depot->ring[code];
        bytes += hew_budget_bytes(code, ring->count);
        if (ring->count > ring->room || ring->least > ring->count) {
            return false;
        }
    }
    return bytes == depot->counts.bytes;
}

/* With the mark: every address in the ring is one. */
static bool
ring_valid(const struct ring *ring, unsigned code)
{
    for (uint32_t i = 0; hew_check_may_walk(ring->count) && i < ring->count; i++) {
        const void *object = ring->slots[(ring->oldest + i) & (ring->room - 1)];
        unsigned shown = hew_map_code((uintptr_t)object);
        if (object == NULL || shown != (code > HEW_CODE_SMALL_LAST ? HEW_CODE_NONE : code)) {
            return false;
        }
    }
    return true;
}

static unsigned
take_from(struct depot *depot, unsigned code, void **objects, unsigned wanted)
{
    struct ring *ring = &depot->ring[code];
    if (ring_count(ring) == 0 || !depot_hold(depot)) {
        return 0;
    }
    uint32_t count = ring->count, taken = count < wanted ? count : wanted;
    count -= taken;
    ring_read(ring, ring->oldest + count, objects, taken);
    ring_set_count(ring, count);
    ring->least = count < ring->least ? count : ring->least;
    depot_add_bytes(depot, -(ptrdiff_t)hew_budget_bytes(code, taken));
    depot->counts.takes++;
    HEW_ASSERT(2, depot_valid(depot));
    depot_let_go(depot);
    show_large(code, objects, taken);
    return taken;
}

/* The number of the first depot from `index` on, going round, that exists and is not `own`; `own` when there is none.  With more arenas
 * than CPUs most numbers never get one. */
static unsigned
other_depot(unsigned own, unsigned index)
{
    unsigned past = atomic_load_explicit(&made_past, memory_order_relaxed);
    for (unsigned looked = 0; looked < past; looked++, index++) {
        index = index < past ? index : 0;
        if (index != own && depot_at(index) != NULL) {
            return index;
        }
    }
    return own;
}

/* What another CPU's threads have freed, those among them that are no more: theirs is looked at where something was found last,
 * else the next one. */
static HEW_NOINLINE unsigned
take_elsewhere(unsigned own, unsigned code, void **objects, unsigned wanted)
{
    struct depot *here = depot_at(own);
    unsigned other =
        other_depot(own, here == NULL ? own + 1 : atomic_load_explicit(&here->friend, memory_order_relaxed));
    unsigned taken = other == own ? 0 : take_from(depot_at(other), code, objects, wanted);
    if (here != NULL && taken == 0) {
        atomic_store_explicit(&here->friend, other + 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&here->misses, 1, memory_order_relaxed);
    }
    return taken;
}

unsigned
hew_depot_here(void)
{
    unsigned count = in_use();
    return count == 1 ? 0 : hew_cpus_current() % count;
}

unsigned
hew_depot_take(unsigned own, unsigned code, void **objects, unsigned wanted)
{
    struct depot *depot = depot_at(own);
    unsigned taken = depot == NULL ? 0 : take_from(depot, code, objects, wanted);
    return HEW_LIKELY(taken != 0) ? taken : take_elsewhere(own, code, objects, wanted);
}

/* With the mark: whether it came last of its class, and is still there. */
static bool
is_newest(const struct ring *ring, const void *object)
{
    return ring->count != 0 && ring->slots[(ring->oldest + ring->count - 1) & (ring->room - 1)] == object;
}

bool
hew_depot_newest_is(unsigned own, unsigned code, const void *object)
{
    struct depot *depot = depot_at(own);
    if (depot == NULL || !depot_hold(depot)) {
        return false;
    }
    bool newest = is_newest(&depot->ring[code], object);
    depot_let_go(depot);
    return newest;
}

/* With the mark: the objects move to a ring of `room` places.  False: no memory, they stay where they are. */
static bool
ring_move(struct ring *ring, uint32_t room)
{
    void **slots = hew_meta_take_raw(room * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    if (ring->slots != NULL) {
        ring_read(ring, ring->oldest, slots, ring->count);
        hew_meta_give(ring->slots, ring->room * sizeof *slots);
    }
    ring->slots = slots;
    ring->oldest = 0;
    __atomic_store_n(&ring->room, room, __ATOMIC_RELAXED);
    return true;
}

/* With the mark: room for `more` objects.  False: as many as may be, or no memory. */
static bool
ring_make_room(struct ring *ring, unsigned more)
{
    uint32_t wanted = ring->count + more, room = ring->room;
    if (HEW_LIKELY(wanted <= room)) {
        return true;
    }
    for (room = room == 0 ? ROOM_MIN : room; room < wanted;) {
        room *= 2;
    }
    return room <= ROOM_MAX && ring_move(ring, room);
}

/* With the mark: a ring that is hardly used becomes smaller. */
static void
ring_shrink(struct ring *ring)
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
        ring_move(ring, room);
    }
}

/* With the mark: up to AT_ONCE of the oldest objects of a class, but for the newest `keep`. */
static unsigned
take_oldest(struct depot *depot, unsigned code, uint32_t keep, void **objects)
{
    struct ring *ring = &depot->ring[code];
    uint32_t count = ring->count, taken = count <= keep ? 0 : count - keep;
    taken = taken < AT_ONCE ? taken : AT_ONCE;
    if (taken != 0) {
        ring_read(ring, ring->oldest, objects, taken);
        ring->oldest += taken;
        ring_set_count(ring, count - taken);
        ring->least = ring->least < count - taken ? ring->least : count - taken;
        depot_add_bytes(depot, -(ptrdiff_t)hew_budget_bytes(code, taken));
    }
    return taken;
}

/* What each depot may hold now, or what it could without idle room. */
static size_t
room_now(bool idle)
{
    return hew_budget_depot(atomic_load_explicit(&made, memory_order_relaxed), idle);
}

/* With the mark: the hand comes by the next class that has objects which nobody has needed since it was there last. */
static unsigned
move_hand(struct depot *depot, void **objects, unsigned *code)
{
    for (unsigned look = 0; look < LOOKS; look++) {
        depot->hand = depot->hand % HEW_CODE_CACHED_LAST + 1;
        struct ring *ring = &depot->ring[depot->hand];
        uint32_t idle = ring->least;
        ring->least = ring->count;
        if (idle != 0) {
            *code = depot->hand;
            unsigned taken = take_oldest(depot, *code, ring->count - idle, objects);
            ring->least = ring->count;
            return taken;
        }
    }
    return 0;
}

/* With the mark: what is given finds room, at the cost of what nobody needs. */
static unsigned
depot_put(struct depot *depot, unsigned code, void *const *objects, unsigned count)
{
    struct ring *ring = &depot->ring[code];
    size_t bytes = hew_budget_bytes(code, count);
    if (HEW_UNLIKELY(depot->counts.bytes + bytes > depot->most)) {
        size_t room = depot->counts.bytes >= depot->most ? 0 : depot->most - depot->counts.bytes;
        count = (unsigned)hew_budget_objects(code, room);
    }
    if (count == 0 || !ring_make_room(ring, count)) {
        depot->counts.refusals++;
        return 0;
    }
    ring_write(ring, ring->oldest + ring->count, objects, count);
    ring_set_count(ring, ring->count + count);
    depot_add_bytes(depot, (ptrdiff_t)hew_budget_bytes(code, count));
    depot->counts.gives++;
    HEW_ASSERT(2, depot_valid(depot));
    HEW_ASSERT(3, ring_valid(ring, code));
    return count;
}

/* A program may end an arena that it has made, with all that came from it: that goes back at once.  Returns how many objects
 * are left, in order. */
static HEW_NOINLINE unsigned
give_manual(unsigned code, void **objects, unsigned count)
{
    unsigned left = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct hew_extent *extent = hew_map_extent((uintptr_t)objects[i]);
        const struct hew_arena *arena = extent == NULL ? NULL : hew_arena_at(extent->arena);
        if (arena == NULL || arena->manual) {
            hew_owner_give(code, &objects[i], 1);
        } else {
            objects[left++] = objects[i];
        }
    }
    return left;
}

/* With the mark: since it held `before`, it has become half full by its usual room.  What lies in idle room wakes the purger, too. */
static HEW_NOINLINE bool
is_half_full(const struct depot *depot, size_t before)
{
    size_t half = room_now(false) / 2;
    return before < half && depot->counts.bytes >= half;
}

/* With the mark, which it lets go: as many as there is room for, from the first on; returns how many. */
static unsigned
give_to(struct depot *depot, unsigned code, void *const *objects, unsigned count)
{
    void *idle[AT_ONCE];
    unsigned idle_code = code, idle_count = 0;
    size_t before = depot->counts.bytes;
    if (HEW_UNLIKELY(is_newest(&depot->ring[code], objects[0]))) { /* of a class without a magazine */
        depot_let_go(depot);
        hew_describe_double_free("free", (uintptr_t)objects[0]);
    }
    depot->most = room_now(true);
    if (HEW_UNLIKELY(before + hew_budget_bytes(code, count) > depot->most)) {
        idle_count = move_hand(depot, idle, &idle_code);
    }
    unsigned done = depot_put(depot, code, objects, count);
    bool due = atomic_load_explicit(&hew_page_mapped, memory_order_relaxed) >= DUE_FROM && is_half_full(depot, before);
    depot_let_go(depot);
    if (HEW_UNLIKELY(idle_count != 0)) {
        send_home(idle_code, idle, idle_count);
    }
    if (HEW_UNLIKELY(due)) {
        hew_page_raise_due();
    }
    return done;
}

void
hew_depot_give(unsigned own, unsigned code, void **objects, unsigned count)
{
    if (HEW_UNLIKELY(atomic_load_explicit(&hew_arena_was_created, memory_order_relaxed))) {
        count = give_manual(code, objects, count);
    }
    for (unsigned i = 0; code > HEW_CODE_SMALL_LAST && i < count; i++) {
        hew_large_hide(objects[i], code);
    }
    struct depot *depot = depot_at(own);
    depot = HEW_LIKELY(depot != NULL) ? depot : depot_make(own);
    unsigned done = depot != NULL && depot_hold(depot) ? give_to(depot, code, objects, count) : 0;
    if (done < count) {
        send_home(code, objects + done, count - done);
    }
}

/* It holds more than it may: as much as a thread takes at a time of fresh memory goes back, or what nobody has needed. */
static HEW_NOINLINE void
fit(struct depot *depot)
{
    void *idle[AT_ONCE];
    unsigned code = HEW_CODE_NONE, count = 0;
    for (size_t bytes = 0; bytes < FIT_BYTES && depot_hold(depot); bytes += hew_budget_bytes(code, count)) {
        count = depot->counts.bytes > room_now(true) ? move_hand(depot, idle, &code) : 0;
        depot_let_go(depot);
        if (count == 0) {
            return;
        }
        send_home(code, idle, count);
    }
}

void
hew_depot_fit(unsigned own)
{
    struct depot *depot = depot_at(own);
    if (HEW_UNLIKELY(depot != NULL && __atomic_load_n(&depot->counts.bytes, __ATOMIC_RELAXED) > room_now(true))) {
        fit(depot);
    }
}

/* What is idle of one class goes back, with `all` everything.  False: nothing is left. */
static bool
drain_class(struct depot *depot, unsigned code, bool all)
{
    struct ring *ring = &depot->ring[code];
    void *objects[AT_ONCE];
    unsigned taken;
    if (HEW_LIKELY(__atomic_load_n(&ring->room, __ATOMIC_RELAXED) ==
                   0)) { /* nothing was put there, or all of it has left */
        return false;
    }
    depot_hold_or_wait(depot);
    uint32_t keep = all ? 0 : ring->count - ring->least, left_to_go = ring->count; /* what comes meanwhile may stay */
    while (left_to_go != 0 && (taken = take_oldest(depot, code, keep, objects)) != 0) {
        left_to_go -= taken < left_to_go ? taken : left_to_go;
        depot_let_go(depot);
        send_home(code, objects, taken);
        depot_hold_or_wait(depot);
        ring->least = ring->count < ring->least ? ring->count : ring->least;
    }
    ring->least = ring->count;
    ring_shrink(ring);
    bool left = ring->count != 0;
    depot_let_go(depot);
    return left;
}

bool
hew_depot_drain(bool all)
{
    bool left = false;
    if (hew_gate_is_closed()) { /* perhaps a handler in the child of a fork: who held a mark is not there */
        hew_gate_look();
    }
    for (unsigned index = 0; index < DEPOTS_MAX; index++) {
        struct depot *depot = depot_at(index);
        for (unsigned code = 1; depot != NULL && code <= HEW_CODE_CACHED_LAST; code++) {
            left |= drain_class(depot, code, all);
        }
    }
    return left;
}

HEW_UNCHECKED_THREADS size_t
hew_depot_held(unsigned code)
{
    size_t objects = 0;
    for (unsigned index = 0; index < DEPOTS_MAX; index++) {
        const struct depot *depot = depot_at(index);
        objects += depot == NULL ? 0 : ring_count(&depot->ring[code]);
    }
    return objects;
}

HEW_UNCHECKED_THREADS struct hew_depot_counts
hew_depot_counts(void)
{
    struct hew_depot_counts sum = {0};
    for (unsigned index = 0; index < DEPOTS_MAX; index++) {
        const struct depot *depot = depot_at(index);
        if (depot != NULL) {
            sum.depots++;
            sum.takes += depot->counts.takes;
            sum.gives += depot->counts.gives;
            sum.misses += atomic_load_explicit(&depot->misses, memory_order_relaxed);
            sum.refusals += depot->counts.refusals;
            sum.bytes += depot->counts.bytes;
        }
    }
    return sum;
}

void
hew_depot_settle(void)
{
    for (unsigned index = 0; index < DEPOTS_MAX; index++) {
        struct depot *depot = depot_at(index);
        while (depot != NULL && hew_gate_held == 1 && atomic_load(&depot->held) != 0) {
            hew_futex_wait(&depot->held, 1, 1);
        }
    }
}

void
hew_depot_after_fork(void)
{
    for (unsigned index = 0; index < DEPOTS_MAX; index++) {
        struct depot *depot = depot_at(index);
        if (depot != NULL && atomic_load_explicit(&depot->held, memory_order_relaxed) != 0) {
            atomic_store_explicit(&depots[index], NULL, memory_order_relaxed);
        }
    }
}

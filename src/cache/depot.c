/* SPDX-License-Identifier: MIT */
/*
 * depot: a ring for each class (ring.h).  Each has a mark of its own: a thread whose CPU is taken from it in the middle of its work, as
 * happens to one of many threads, keeps others from that class alone.
 */
#include "cache/depot.h"

#include "cache/budget.h"
#include "cache/owner.h"
#include "cache/ring.h"
#include "meta/memory.h"
#include "os/check.h"
#include "os/cpus.h"
#include "os/futex.h"
#include "os/gate.h"
#include "slab/describe.h"
#include "slab/large.h"

#include <string.h>

#define DEPOTS_MAX 256             /* CPUs beyond share one */
#define AT_ONCE 128u               /* objects that the hand takes at a time: they are copied under the mark */
#define LOOKS 8                    /* classes that the hand passes by in one go, */
#define DUE_FROM ((size_t)8 << 20) /* bytes of mappings from which on half a depot is worth a purger */

/* What is not a ring is written without a mark: relaxed. */
struct depot {
    _Atomic size_t bytes;    /* what its rings hold */
    _Atomic uint32_t hand;   /* clock hand: the class that is cleaned next */
    _Atomic uint32_t friend; /* where a batch was found that was not here */
    _Atomic uint64_t misses;
    struct hew_ring ring[HEW_CODES];
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

static size_t
held_by(const struct depot *depot)
{
    return atomic_load_explicit(&depot->bytes, memory_order_relaxed);
}

/* Before they can be taken out again, so that what is held is never less than nothing.  Returns what was held before. */
static size_t
count_in(struct depot *depot, unsigned code, unsigned count)
{
    return atomic_fetch_add_explicit(&depot->bytes, hew_budget_bytes(code, count), memory_order_relaxed);
}

static void
count_out(struct depot *depot, unsigned code, unsigned count)
{
    atomic_fetch_sub_explicit(&depot->bytes, hew_budget_bytes(code, count), memory_order_relaxed);
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
    struct depot *other = NULL, *depot = hew_meta_take(sizeof *depot);
    if (depot != NULL && !atomic_compare_exchange_strong_explicit(&depots[index], &other, depot, memory_order_acq_rel,
                                                                  memory_order_acquire)) {
        hew_meta_give(depot, sizeof *depot);
        return other;
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

/* With the mark: every address in the ring is one of its class. */
static bool
ring_valid(const struct hew_ring *ring, unsigned code)
{
    if (ring->count > ring->room || ring->least > ring->count) {
        return false;
    }
    for (uint32_t i = 0; hew_check_may_walk(ring->count) && i < ring->count; i++) {
        const void *object = hew_ring_at(ring, i);
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
    struct hew_ring *ring = &depot->ring[code];
    if (hew_ring_count(ring) == 0 || !hew_ring_hold(ring)) {
        return 0;
    }
    unsigned taken = hew_ring_take(ring, objects, wanted);
    count_out(depot, code, taken);
    HEW_ASSERT(3, ring_valid(ring, code));
    hew_ring_let_go(ring);
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

/* The one where something was found last, else the next one. */
static HEW_NOINLINE unsigned
next_to_ask(unsigned own)
{
    const struct depot *here = depot_at(own);
    return other_depot(own, here == NULL ? own + 1 : atomic_load_explicit(&here->friend, memory_order_relaxed));
}

/* What another CPU's threads have freed, those among them that are no more: theirs is looked at where something was found last,
 * else the next one. */
static HEW_NOINLINE unsigned
take_elsewhere(unsigned own, unsigned code, void **objects, unsigned wanted)
{
    struct depot *here = depot_at(own);
    unsigned other = next_to_ask(own);
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

bool
hew_depot_newest_is(unsigned own, unsigned code, const void *object)
{
    struct depot *depot = depot_at(own);
    if (depot == NULL || !hew_ring_hold(&depot->ring[code])) {
        return false;
    }
    bool newest = hew_ring_newest_is(&depot->ring[code], object);
    hew_ring_let_go(&depot->ring[code]);
    return newest;
}

static unsigned
number_made(void)
{
    unsigned number = atomic_load_explicit(&made, memory_order_relaxed);
    return number == 0 ? 1 : number;
}

/* What each depot may hold now. */
static size_t
capacity_now(void)
{
    return hew_budget_depot(number_made());
}

/* Moves the hand to the next class with objects that no thread took since its last visit, and takes some of them. */
static unsigned
move_hand(struct depot *depot, void **objects, unsigned *code)
{
    unsigned taken = 0;
    for (unsigned look = 0; look < LOOKS && taken == 0; look++) {
        *code = atomic_fetch_add_explicit(&depot->hand, 1, memory_order_relaxed) % HEW_CODE_CACHED_LAST + 1;
        struct hew_ring *ring = &depot->ring[*code];
        if (!hew_ring_has_places(ring) || !hew_ring_hold(ring)) {
            continue;
        }
        taken = hew_ring_take_oldest(ring, ring->count - ring->least, objects, AT_ONCE);
        ring->least = ring->count;
        count_out(depot, *code, taken);
        hew_ring_let_go(ring);
    }
    return taken;
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

/* The depot would exceed its limit: returns unused objects to their owners.  Returns how many of the new ones fit. */
static HEW_NOINLINE unsigned
make_room(struct depot *depot, unsigned code, unsigned count, size_t most)
{
    void *idle[AT_ONCE];
    unsigned idle_code, idle_count = move_hand(depot, idle, &idle_code);
    if (idle_count != 0) {
        send_home(idle_code, idle, idle_count);
    }
    size_t held = held_by(depot), room = held < most ? hew_budget_objects(code, most - held) : 0;
    return room < count ? (unsigned)room : count;
}

/* The object is to be given next. */
static bool
hold_unless_freed_twice(struct hew_ring *ring, const void *object)
{
    if (!hew_ring_hold(ring)) {
        return false;
    }
    if (HEW_UNLIKELY(hew_ring_newest_is(ring, object))) { /* of a class without a magazine */
        hew_ring_let_go(ring);
        hew_describe_twice_and_end("free", (uintptr_t)object); /* the caller would give it elsewhere */
    }
    return true;
}

/* As many as there is room for, from the first on; returns how many. */
static unsigned
give_to(struct depot *depot, unsigned code, void *const *objects, unsigned count)
{
    struct hew_ring *ring = &depot->ring[code];
    size_t most = capacity_now();
    if (!hold_unless_freed_twice(ring, objects[0])) {
        return 0;
    }
    if (HEW_UNLIKELY(held_by(depot) + hew_budget_bytes(code, count) > most)) {
        hew_ring_let_go(ring);
        count = make_room(depot, code, count, most);
        if (!hold_unless_freed_twice(ring, objects[0])) {
            return 0;
        }
    }
    size_t before = count_in(depot, code, count), half = most / 2;
    if (count == 0 || !hew_ring_put(ring, objects, count)) {
        count_out(depot, code, count);
        ring->refusals++;
        count = 0;
    }
    HEW_ASSERT(3, ring_valid(ring, code));
    hew_ring_let_go(ring);
    if (HEW_UNLIKELY(before < half && before + hew_budget_bytes(code, count) >= half) &&
        atomic_load_explicit(&hew_page_mapped, memory_order_relaxed) >= DUE_FROM) {
        hew_page_raise_due();
    }
    return count;
}

void
hew_depot_give(unsigned own, unsigned code, void **objects, unsigned count)
{
    if (HEW_UNLIKELY(atomic_load_explicit(&hew_arena_was_created, memory_order_relaxed))) {
        count = give_manual(code, objects, count);
        if (count == 0) {
            return;
        }
    }
    for (unsigned i = 0; code > HEW_CODE_SMALL_LAST && i < count; i++) {
        hew_large_hide(objects[i], code);
    }
    struct depot *depot = depot_at(own);
    depot = HEW_LIKELY(depot != NULL) ? depot : depot_make(own);
    unsigned done = depot != NULL ? give_to(depot, code, objects, count) : 0;
    if (done < count) {
        send_home(code, objects + done, count - done);
    }
}

/* What is idle of one class goes back, with `all` everything.  False: nothing is left. */
static bool
drain_class(struct depot *depot, unsigned code, bool all)
{
    struct hew_ring *ring = &depot->ring[code];
    void *objects[AT_ONCE];
    unsigned taken;
    if (HEW_LIKELY(!hew_ring_has_places(ring))) { /* nothing was put there, or all of it has left */
        return false;
    }
    hew_ring_hold_or_wait(ring);
    uint32_t keep = all ? 0 : ring->count - ring->least, left_to_go = ring->count; /* what comes meanwhile may stay */
    while (left_to_go != 0 && (taken = hew_ring_take_oldest(ring, keep, objects, AT_ONCE)) != 0) {
        count_out(depot, code, taken);
        left_to_go -= taken < left_to_go ? taken : left_to_go;
        hew_ring_let_go(ring);
        send_home(code, objects, taken);
        hew_ring_hold_or_wait(ring);
    }
    ring->least = ring->count;
    hew_ring_shrink(ring);
    bool left = ring->count != 0;
    hew_ring_let_go(ring);
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
        objects += depot == NULL ? 0 : hew_ring_count(&depot->ring[code]);
    }
    return objects;
}

HEW_UNCHECKED_THREADS struct hew_depot_counts
hew_depot_counts(void)
{
    struct hew_depot_counts sum = {0};
    for (unsigned index = 0; index < DEPOTS_MAX; index++) {
        const struct depot *depot = depot_at(index);
        for (unsigned code = 1; depot != NULL && code <= HEW_CODE_CACHED_LAST; code++) {
            sum.takes += depot->ring[code].takes;
            sum.gives += depot->ring[code].gives;
            sum.refusals += depot->ring[code].refusals;
        }
        if (depot != NULL) {
            sum.depots++;
            sum.misses += atomic_load_explicit(&depot->misses, memory_order_relaxed);
            sum.bytes += held_by(depot);
        }
    }
    return sum;
}

void
hew_depot_settle(void)
{
    for (unsigned index = 0; index < DEPOTS_MAX; index++) {
        struct depot *depot = depot_at(index);
        for (unsigned code = 1; depot != NULL && code <= HEW_CODE_CACHED_LAST; code++) {
            _Atomic uint32_t *held = &depot->ring[code].held;
            while (atomic_load(held) != 0) {
                hew_futex_wait(held, 1, 1);
            }
        }
    }
}

void
hew_depot_after_fork(void)
{
    for (unsigned index = 0; index < DEPOTS_MAX; index++) {
        struct depot *depot = depot_at(index);
        size_t bytes = 0;
        for (unsigned code = 1; depot != NULL && code <= HEW_CODE_CACHED_LAST; code++) {
            struct hew_ring *ring = &depot->ring[code];
            if (atomic_load_explicit(&ring->held, memory_order_relaxed) != 0) {
                memset(ring, 0, sizeof *ring);
            }
            bytes += hew_budget_bytes(code, ring->count);
        }
        if (depot != NULL) {
            atomic_store_explicit(&depot->bytes, bytes, memory_order_relaxed);
        }
    }
}

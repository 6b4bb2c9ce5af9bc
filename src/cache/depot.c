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

#define DEPOTS_MAX 256             /* CPUs beyond share one */
#define ROOM_MIN 64u               /* places that a stack begins with, */
#define ROOM_MAX (1u << 15)        /* and the most that it grows to */
#define AT_ONCE 128u               /* objects that the hand takes at a time: they are copied under the mark */
#define LOOKS 8                    /* empty stacks that the hand passes by in one go */
#define DUE_FROM ((size_t)8 << 20) /* bytes of mappings from which on half a depot is worth a purger */
#define GIVES_TO_LOOK 64u          /* gives after which a depot asks again what it may hold */

/* Addresses in a ring, so that the oldest can leave as easily as the newest. */
struct stack {
    void **slots;
    uint32_t oldest; /* the place of the oldest */
    uint32_t count;  /* also looked at without the mark: relaxed */
    uint32_t least;  /* the fewest there were since the hand came by */
    uint32_t room;   /* places: a power of two, or 0 */
};

struct depot {
    _Atomic uint32_t held; /* the mark: 1 while somebody works on it.  Guards all that follows */
    size_t most;           /* bytes that it may hold, as of a moment ago */
    uint32_t hand;         /* the class whose objects that nobody needs are looked for next */
    struct hew_depot_counts counts;
    _Atomic uint32_t friend; /* without the mark, relaxed: where a batch was found that was not here */
    _Atomic uint64_t misses; /* likewise */
    struct stack stack[HEW_CODES];
} HEW_ALIGNED(HEW_CACHE_LINE);

static _Atomic unsigned made;                      /* how many there are: relaxed */
static _Atomic(struct depot *) depots[DEPOTS_MAX]; /* made when something is to be put there, for good */

static unsigned
all_depots(void)
{
    unsigned most = hew_arena_limit();
    return most < DEPOTS_MAX ? most : DEPOTS_MAX;
}

/* Only one thread: what it frees needs one depot, and no CPU need be asked for. */
static unsigned
in_use(void)
{
    return atomic_load_explicit(&hew_caches_alive, memory_order_relaxed) <= 1 ? 1 : all_depots();
}

static struct depot *
depot_at(unsigned index)
{
    return atomic_load_explicit(&depots[index], memory_order_acquire); /* pairs with the release of make() */
}

/* The mark is a lock to the gate: while a thread forks, who holds none gets none, and who holds one gets done. */
static bool
hold(struct depot *depot)
{
    uint32_t nobody = 0; /* acquire: pairs with the release of let_go(); the rest of it is for the gate */
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
hold_or_wait(struct depot *depot)
{
    while (!hold(depot)) {
        if (hew_gate_is_closed() && hew_gate_held == 0) {
            hew_gate_await();
        } else {
            hew_futex_wait(&depot->held, 1, 1);
        }
    }
}

static void
let_go(struct depot *depot)
{
    hew_gate_held--;
    atomic_store_explicit(&depot->held, 0, memory_order_release);
}

static uint32_t
count_of(const struct stack *stack)
{
    return __atomic_load_n(&stack->count, __ATOMIC_RELAXED);
}

static void
set_count(struct stack *stack, uint32_t count)
{
    __atomic_store_n(&stack->count, count, __ATOMIC_RELAXED);
}

/* With the mark: `count` addresses, from the one at `place` on. */
static void
read_ring(const struct stack *stack, uint32_t place, void **into, uint32_t count)
{
    uint32_t at = place & (stack->room - 1), straight = stack->room - at;
    straight = straight < count ? straight : count;
    memcpy(into, stack->slots + at, straight * sizeof *into);
    if (HEW_UNLIKELY(straight < count)) {
        memcpy(into + straight, stack->slots, (count - straight) * sizeof *into);
    }
}

static void
write_ring(struct stack *stack, uint32_t place, void *const *from, uint32_t count)
{
    uint32_t at = place & (stack->room - 1), straight = stack->room - at;
    straight = straight < count ? straight : count;
    memcpy(stack->slots + at, from, straight * sizeof *from);
    if (HEW_UNLIKELY(straight < count)) {
        memcpy(stack->slots, from + straight, (count - straight) * sizeof *from);
    }
}

static void
show(unsigned code, void *const *objects, unsigned count)
{
    for (unsigned i = 0; code > HEW_CODE_SMALL_LAST && i < count; i++) {
        hew_large_show(objects[i], code);
    }
}

/* Without the mark: what lay here goes back to its owners. */
static void
send_home(unsigned code, void **objects, unsigned count)
{
    show(code, objects, count);
    hew_owner_give(code, objects, count);
}

static HEW_NOINLINE struct depot *
make(unsigned index)
{
    struct depot *nobody = NULL, *depot = hew_meta_take(sizeof *depot);
    if (depot != NULL && !atomic_compare_exchange_strong_explicit(&depots[index], &nobody, depot, memory_order_acq_rel,
                                                                  memory_order_acquire)) {
        hew_meta_give(depot, sizeof *depot);
        return nobody;
    }
    if (depot != NULL) {
        atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
    }
    return depot;
}

/* With the mark: what it holds is what the stacks hold. */
static bool
depot_valid(const struct depot *depot)
{
    size_t bytes = 0;
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        const struct stack *stack = &depot->stack[code];
        bytes += hew_budget_bytes(code, stack->count);
        if (stack->count > stack->room || stack->least > stack->count) {
            return false;
        }
    }
    return bytes == depot->counts.bytes;
}

/* With the mark: every address in the ring is one. */
static bool
stack_valid(const struct stack *stack, unsigned code)
{
    for (uint32_t i = 0; hew_check_may_walk(stack->count) && i < stack->count; i++) {
        const void *object = stack->slots[(stack->oldest + i) & (stack->room - 1)];
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
    struct stack *stack = &depot->stack[code];
    if (count_of(stack) == 0 || !hold(depot)) {
        return 0;
    }
    uint32_t count = stack->count, taken = count < wanted ? count : wanted;
    count -= taken;
    read_ring(stack, stack->oldest + count, objects, taken);
    set_count(stack, count);
    stack->least = count < stack->least ? count : stack->least;
    depot->counts.bytes -= hew_budget_bytes(code, taken);
    depot->counts.takes++;
    HEW_ASSERT(2, depot_valid(depot));
    let_go(depot);
    show(code, objects, taken);
    return taken;
}

/* What another CPU's threads have freed, those among them that are no more: theirs is looked at where something was found last,
 * else the next one. */
static HEW_NOINLINE unsigned
take_elsewhere(unsigned own, unsigned code, void **objects, unsigned wanted)
{
    struct depot *here = depot_at(own);
    unsigned count = all_depots();
    unsigned other = here == NULL ? own + 1 : atomic_load_explicit(&here->friend, memory_order_relaxed);
    other %= count;
    struct depot *depot = other == own ? NULL : depot_at(other);
    unsigned taken = depot == NULL ? 0 : take_from(depot, code, objects, wanted);
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
is_newest(const struct stack *stack, const void *object)
{
    return stack->count != 0 && stack->slots[(stack->oldest + stack->count - 1) & (stack->room - 1)] == object;
}

bool
hew_depot_newest_is(unsigned own, unsigned code, const void *object)
{
    struct depot *depot = depot_at(own);
    if (depot == NULL || !hold(depot)) {
        return false;
    }
    bool newest = is_newest(&depot->stack[code], object);
    let_go(depot);
    return newest;
}

/* With the mark: the objects move to a ring of `room` places.  False: no memory, they stay where they are. */
static bool
move_ring(struct stack *stack, uint32_t room)
{
    void **slots = hew_meta_take_raw(room * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    if (stack->slots != NULL) {
        read_ring(stack, stack->oldest, slots, stack->count);
        hew_meta_give(stack->slots, stack->room * sizeof *slots);
    }
    stack->slots = slots;
    stack->oldest = 0;
    stack->room = room;
    return true;
}

/* With the mark: room for `more` objects.  False: as many as may be, or no memory. */
static bool
make_room(struct stack *stack, unsigned more)
{
    uint32_t wanted = stack->count + more, room = stack->room;
    if (HEW_LIKELY(wanted <= room)) {
        return true;
    }
    for (room = room == 0 ? ROOM_MIN : room; room < wanted;) {
        room *= 2;
    }
    return room <= ROOM_MAX && move_ring(stack, room);
}

/* With the mark: a ring that is hardly used becomes smaller. */
static void
shrink(struct stack *stack)
{
    uint32_t room = stack->room;
    if (stack->count == 0 && room != 0) {
        hew_meta_give(stack->slots, room * sizeof *stack->slots);
        stack->slots = NULL;
        stack->room = 0;
    } else if (stack->count <= room / 8 && room > ROOM_MIN) {
        while (stack->count <= room / 4 && room > ROOM_MIN) {
            room /= 2;
        }
        move_ring(stack, room);
    }
}

/* With the mark: up to AT_ONCE of the oldest objects of a class, but for the newest `keep`. */
static unsigned
take_oldest(struct depot *depot, unsigned code, uint32_t keep, void **objects)
{
    struct stack *stack = &depot->stack[code];
    uint32_t count = stack->count, taken = count <= keep ? 0 : count - keep;
    taken = taken < AT_ONCE ? taken : AT_ONCE;
    if (taken != 0) {
        read_ring(stack, stack->oldest, objects, taken);
        stack->oldest += taken;
        set_count(stack, count - taken);
        stack->least = stack->least < count - taken ? stack->least : count - taken;
        depot->counts.bytes -= hew_budget_bytes(code, taken);
    }
    return taken;
}

/* With the mark: the hand comes by the next class that has objects which nobody has needed since it was there last. */
static unsigned
move_hand(struct depot *depot, void **objects, unsigned *code)
{
    for (unsigned look = 0; look < LOOKS; look++) {
        depot->hand = depot->hand % HEW_CODE_CACHED_LAST + 1;
        struct stack *stack = &depot->stack[depot->hand];
        uint32_t idle = stack->least;
        stack->least = stack->count;
        if (idle != 0) {
            *code = depot->hand;
            unsigned taken = take_oldest(depot, *code, stack->count - idle, objects);
            stack->least = stack->count;
            return taken;
        }
    }
    return 0;
}

/* With the mark: what is given finds room, at the cost of what nobody needs. */
static unsigned
put(struct depot *depot, unsigned code, void *const *objects, unsigned count)
{
    struct stack *stack = &depot->stack[code];
    size_t bytes = hew_budget_bytes(code, count);
    if (HEW_UNLIKELY(depot->counts.bytes + bytes > depot->most)) {
        size_t room = depot->counts.bytes >= depot->most ? 0 : depot->most - depot->counts.bytes;
        count = (unsigned)hew_budget_objects(code, room);
    }
    if (count == 0 || !make_room(stack, count)) {
        depot->counts.refusals++;
        return 0;
    }
    write_ring(stack, stack->oldest + stack->count, objects, count);
    set_count(stack, stack->count + count);
    depot->counts.bytes += hew_budget_bytes(code, count);
    depot->counts.gives++;
    HEW_ASSERT(2, depot_valid(depot));
    HEW_ASSERT(3, stack_valid(stack, code));
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

/* With the mark, which it lets go: as many as there is room for, from the first on; returns how many. */
static unsigned
give_to(struct depot *depot, unsigned code, void *const *objects, unsigned count)
{
    void *idle[AT_ONCE];
    unsigned idle_code = code, idle_count = 0;
    size_t before = depot->counts.bytes;
    if (HEW_UNLIKELY(is_newest(&depot->stack[code], objects[0]))) { /* of a class without a magazine */
        let_go(depot);
        hew_describe_double_free("free", (uintptr_t)objects[0]);
    }
    if (HEW_UNLIKELY(depot->counts.gives % GIVES_TO_LOOK == 0)) {
        depot->most = hew_budget_depot(atomic_load_explicit(&made, memory_order_relaxed));
    }
    if (HEW_UNLIKELY(before + hew_budget_bytes(code, count) > depot->most)) {
        idle_count = move_hand(depot, idle, &idle_code);
    }
    unsigned done = put(depot, code, objects, count);
    bool due = before < depot->most / 2 && depot->counts.bytes >= depot->most / 2 &&
               atomic_load_explicit(&hew_page_mapped, memory_order_relaxed) >= DUE_FROM;
    let_go(depot);
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
    depot = HEW_LIKELY(depot != NULL) ? depot : make(own);
    unsigned done = depot != NULL && hold(depot) ? give_to(depot, code, objects, count) : 0;
    if (done < count) {
        send_home(code, objects + done, count - done);
    }
}

/* What is idle of one class goes back, with `all` everything.  False: nothing is left. */
static bool
drain_class(struct depot *depot, unsigned code, bool all)
{
    struct stack *stack = &depot->stack[code];
    void *objects[AT_ONCE];
    unsigned taken;
    hold_or_wait(depot);
    uint32_t keep = all ? 0 : stack->count - stack->least,
             left_to_go = stack->count; /* what comes meanwhile may stay */
    while (left_to_go != 0 && (taken = take_oldest(depot, code, keep, objects)) != 0) {
        left_to_go -= taken < left_to_go ? taken : left_to_go;
        let_go(depot);
        send_home(code, objects, taken);
        hold_or_wait(depot);
        stack->least = stack->count < stack->least ? stack->count : stack->least;
    }
    stack->least = stack->count;
    shrink(stack);
    bool left = stack->count != 0;
    let_go(depot);
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
        objects += depot == NULL ? 0 : count_of(&depot->stack[code]);
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

/* SPDX-License-Identifier: MIT */
/* ghost: objects are counted, not named: which of its class was wanted again does not matter. */
#include "cache/ghost.h"

#include "cache/budget.h"
#include "page/bound.h"
#include "page/due.h"

#define ROOM_MOST 7u        /* times the usual room */
#define FIRST_PART 4u       /* of the usual room: the first step, */
#define FIRST_HEAP_PART 64u /* and no more of the heap, in all depots.  Each later one doubles what there is */
#define WANTED_PART 2u      /* of what the depot may hold has to be wanted again for a step */
#define COST_PART 128u      /* of the heap, in all depots */
#define FAILURES_MOST 20u
#define AWAY_TIMES 8u /* what the depot may hold: of more that is away nothing could be told */

static _Atomic(enum hew_ghost_permission) permission; /* relaxed; by who measures what room is worth: tuning/depots.h */

static size_t
get(const _Atomic size_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static void
set(_Atomic size_t *number, size_t value)
{
    atomic_store_explicit(number, value, memory_order_relaxed);
}

void
hew_ghost_permit(enum hew_ghost_permission now)
{
    atomic_store_explicit(&permission, now, memory_order_relaxed);
}

enum hew_ghost_permission
hew_ghost_permitted(void)
{
    return atomic_load_explicit(&permission, memory_order_relaxed);
}

/* Whether the ghost's room may be filled now. */
static bool
is_allowed(const struct hew_ghost *ghost)
{
    enum hew_ghost_permission now = hew_ghost_permitted();
    return now == HEW_GHOST_GRANTED || (now == HEW_GHOST_ALLOWED && !hew_ghost_asks(ghost));
}

bool
hew_ghost_room_is_there(const struct hew_ghost *ghost)
{
    return is_allowed(ghost) || hew_ghost_permitted() == HEW_GHOST_SUSPENDED;
}

/* What the room may cost one of the depots. */
static size_t
cost_limit(unsigned depots)
{
    return get(&hew_page_mapped) / COST_PART / depots;
}

static void
take_back(struct hew_ghost *ghost)
{
    uint32_t failures = atomic_load_explicit(&ghost->failures, memory_order_relaxed);
    set(&ghost->room, 0);
    set(&ghost->wanted, 0);
    set(&ghost->for_others, 0);
    atomic_store_explicit(&ghost->paid, false, memory_order_relaxed);
    atomic_store_explicit(&ghost->failures, failures + (failures < FAILURES_MOST), memory_order_relaxed);
}

/* Page heaps have taken memory from the system since that was looked at last; `beyond` the usual lies here.  One thread counts it. */
static void
look_at_growth(struct hew_ghost *ghost, size_t before, size_t taken, size_t beyond, unsigned depots)
{
    size_t grown = taken - before;
    if (!atomic_compare_exchange_strong_explicit(&ghost->taken, &before, taken, memory_order_relaxed,
                                                 memory_order_relaxed)) {
        return;
    }
    size_t cost = get(&ghost->cost), more = hew_budget_least(grown, beyond);
    cost += more;
    cost -= beyond == 0 ? hew_budget_least(cost, grown) : 0;
    set(&ghost->cost, cost);
    if (more != 0) {
        atomic_store_explicit(&ghost->paid, true, memory_order_relaxed);
    }
    if (cost > cost_limit(depots) && get(&ghost->room) != 0) {
        take_back(ghost);
    }
}

/* The usual room may have become smaller since. */
size_t
hew_ghost_present_room(const struct hew_ghost *ghost, size_t usual)
{
    size_t room = get(&ghost->room);
    return room != 0 && hew_page_bound_is_far(0) ? hew_budget_least(room, usual * ROOM_MOST) : 0;
}

/* Where there is room, or was. */
static HEW_NOINLINE size_t
room_now(struct hew_ghost *ghost, size_t held, size_t usual, unsigned depots)
{
    size_t taken = get(&hew_page_taken_fresh), before = get(&ghost->taken);
    if (hew_ghost_permitted() == HEW_GHOST_SUSPENDED) {
        set(&ghost->taken, taken); /* nobody can say whose it is */
    } else if (taken > before) {   /* less: another thread has looked since */
        look_at_growth(ghost, before, taken, held > usual ? held - usual : 0, depots);
    }
    return is_allowed(ghost) ? hew_ghost_present_room(ghost, usual) : 0;
}

size_t
hew_ghost_room(struct hew_ghost *ghost, size_t held, size_t usual, unsigned depots)
{
    if (get(&ghost->room) != 0 || get(&ghost->cost) != 0) {
        return room_now(ghost, held, usual, depots);
    }
    size_t taken = get(&hew_page_taken_fresh);
    if (taken != get(&ghost->taken)) {
        set(&ghost->taken, taken); /* whatever has come is due to others */
    }
    return 0;
}

void
hew_ghost_note_away(struct hew_ghost *ghost, unsigned code, unsigned count, size_t most)
{
    if (!hew_budget_depots_may_grow()) {
        return;
    }
    size_t bytes = get(&ghost->away_bytes) + hew_budget_bytes(code, count);
    if (bytes > most * AWAY_TIMES) {
        for (unsigned each = 0; each < HEW_CODES; each++) {
            atomic_store_explicit(&ghost->away[each], 0, memory_order_relaxed);
        }
        bytes = hew_budget_bytes(code, count);
    }
    set(&ghost->away_bytes, bytes);
    atomic_fetch_add_explicit(&ghost->away[code], count, memory_order_relaxed);
}

/* The usual room has a least size, which is much of a small heap. */
static size_t
first_step(size_t usual, unsigned depots)
{
    return hew_budget_least(usual / FIRST_PART, get(&hew_page_mapped) / FIRST_HEAP_PART / depots);
}

/* Whether a ghost of this room may get more: one that is not there gets none, but for what it asks for at first. */
static bool
may_step_up(const struct hew_ghost *ghost, size_t room)
{
    return is_allowed(ghost) || (room == 0 && hew_ghost_permitted() == HEW_GHOST_ALLOWED);
}

/* Bytes that have to be wanted again for a step. */
static size_t
needed(const struct hew_ghost *ghost, size_t usual)
{
    return (usual + get(&ghost->room)) / WANTED_PART << atomic_load_explicit(&ghost->failures, memory_order_relaxed);
}

/* Of two threads at once the one that finds what was wanted makes the step; what was made for others is looked at by that one alone. */
static bool
end_period(struct hew_ghost *ghost, size_t usual, bool *for_others)
{
    size_t wanted = atomic_exchange_explicit(&ghost->wanted, 0, memory_order_relaxed);
    if (wanted < needed(ghost, usual)) {
        return false;
    }
    *for_others = atomic_exchange_explicit(&ghost->for_others, 0, memory_order_relaxed) > wanted / 2;
    return true;
}

/* What it asks for from now on; the room that it begins with. */
static size_t
room_before_step(struct hew_ghost *ghost, bool for_others)
{
    size_t room = get(&ghost->room);
    bool asks = hew_ghost_asks(ghost), goes_on = for_others && (room == 0 || asks);
    atomic_store_explicit(&ghost->asks, goes_on, memory_order_relaxed);
    return asks && !goes_on && hew_ghost_permitted() != HEW_GHOST_GRANTED ? 0 : room;
}

/* Perhaps enough was wanted again. */
static HEW_NOINLINE void
step_up(struct hew_ghost *ghost, size_t usual, unsigned depots)
{
    bool for_others;
    if (!end_period(ghost, usual, &for_others)) {
        return;
    }
    size_t room = room_before_step(ghost, for_others), most = usual * ROOM_MOST;
    if (get(&ghost->cost) > cost_limit(depots) || room >= most || !may_step_up(ghost, room) ||
        !hew_page_bound_is_far(0)) {
        set(&ghost->room, room);
        return;
    }
    uint32_t failures = atomic_load_explicit(&ghost->failures, memory_order_relaxed);
    if (failures != 0 && !atomic_load_explicit(&ghost->paid, memory_order_relaxed)) {
        atomic_store_explicit(&ghost->failures, failures - 1, memory_order_relaxed);
    }
    atomic_store_explicit(&ghost->paid, false, memory_order_relaxed);
    set(&ghost->room, room == 0 ? first_step(usual, depots) : hew_budget_least(room * 2, most));
}

unsigned
hew_ghost_note_wanted(struct hew_ghost *ghost, struct hew_ghost_wish wish, size_t usual, unsigned depots)
{
    uint32_t away = atomic_load_explicit(&ghost->away[wish.code], memory_order_relaxed);
    unsigned again = wish.count < away ? wish.count : away;
    if (again == 0) {
        return 0;
    }
    size_t bytes = hew_budget_bytes(wish.code, again), all = get(&ghost->away_bytes);
    atomic_store_explicit(&ghost->away[wish.code], away - again, memory_order_relaxed);
    set(&ghost->away_bytes, all - hew_budget_least(all, bytes));
    if (wish.for_others) {
        atomic_fetch_add_explicit(&ghost->for_others, bytes, memory_order_relaxed);
    }
    if (atomic_fetch_add_explicit(&ghost->wanted, bytes, memory_order_relaxed) + bytes >= needed(ghost, usual)) {
        step_up(ghost, usual, depots);
    }
    return again;
}

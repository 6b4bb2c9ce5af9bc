/* SPDX-License-Identifier: MIT */
/*
 * pressure: the system gives no warning before it kills a process.  So a thread that takes memory checks the distance
 * to the limit.  Far from the limit checks are rare, because a check walks all heaps and may read two files.  It
 * returns what is missing plus a small margin: without the margin, a program at its limit would fault the same pages in
 * again and again.
 */
#include "alloc/pressure.h"

#include "base/options.h"
#include "cache/budget.h"
#include "cache/depot.h"
#include "cache/magazine.h"
#include "os/clock.h"
#include "page/hooks.h"
#include "slab/arena_life.h"

#define NEAR_PART 32 /* of the limit: free memory is returned when less than this is left */
#define NEAR_LEAST ((ptrdiff_t)256 << 10)
#define NEAR_MOST_PART 16   /* of a small limit: the upper bound for that */
#define OTHERS_FADE_PART 16 /* of the usage of others: decays by this part at each check */
#define CACHES_FAR_PART 32  /* of the limit: what all caches may hold, in addition, with a quarter of it left */
#define CACHES_PART 64      /* of the limit: what all caches may hold near it */
#define IDLE_PARTS 1024     /* resolution with which the amount to return is divided among the heaps */
/* Of the limit: with 5 of these parts left all idle pages stay as decay says, with 1 left none stay. */
#define CURVE_PART 20
#define CURVE_FAR_PARTS 5

static struct hew_cgroup pressure_group;                 /* written once, before group_known is set with release */
static _Atomic bool group_known;                         /* acquire pairs with that */
static _Atomic bool pressure_read_no_more;               /* relaxed: written by the thread that has the reason */
static _Atomic uint32_t looking;                         /* 1: a thread is checking, and others need not */
static _Atomic size_t looks, relieved, returned, purged; /* relaxed */

/* Returns the bytes of slabs that have no memory. */
static size_t
sum_holes(struct hew_arena *arena)
{
    size_t bytes = 0;
    HEW_EACH_USED_BIN(arena, code)
    {
        hew_mutex_lock(&arena->bins[code].lock);
        bytes += arena->bins[code].counts.holes;
        hew_mutex_unlock(&arena->bins[code].lock);
    }
    return bytes;
}

/* Memory of all heaps: what they hold, and the part of it that is idle. */
struct sum {
    ptrdiff_t held, idle;
};

static struct sum
sum_heaps(void)
{
    struct sum sum = {0, 0};
    HEW_EACH_ARENA(arena)
    {
        sum.held -= (ptrdiff_t)sum_holes(arena);
    }
    HEW_EACH_PAGE_OWNER(arena)
    {
        struct hew_page_counts counts = hew_page_counts(arena->pages.heap);
        sum.idle += (ptrdiff_t)(counts.dirty + counts.muzzy);
        sum.held += (ptrdiff_t)(counts.active + counts.dirty + counts.muzzy);
    }
    return sum;
}

HEW_COLD void
hew_pressure_empty_caches(void)
{
    struct hew_cache *cache = hew_cache_self;
    if (hew_cache_is_real(cache)) {
        hew_magazine_send_all_home(cache->real);
    } else {
        hew_slot_drain(true);
    }
    hew_depot_drain(true);
}

size_t
hew_pressure_return_all(void)
{
    ptrdiff_t before = sum_heaps().held;
    hew_pressure_empty_caches();
    hew_arenas_decay(true);
    ptrdiff_t after = sum_heaps().held;
    size_t gone = before > after ? (size_t)(before - after) : 0;
    atomic_store_explicit(&purged, gone, memory_order_relaxed);
    return gone;
}

/* Returns the smaller of the two settings; 0: neither is set. */
static size_t
own_limit(void)
{
    size_t soft = hew_options.limit, hard = hew_options.limit_hard;
    return soft == 0 || (hard != 0 && hard < soft) ? hard : soft;
}

/* The nearest limit, and the bytes left before it. */
struct room {
    ptrdiff_t left, limit;
};

/* Returns the group's usage outside the heaps: hew's own data, stacks, page tables, other processes.  It can be
 * measured only when all pages of the heaps have memory, so this is a slowly decaying maximum. */
static ptrdiff_t
usage_of_others(const struct sum *sum, ptrdiff_t usage)
{
    static _Atomic ptrdiff_t lately; /* relaxed: an estimate */
    ptrdiff_t before = atomic_load_explicit(&lately, memory_order_relaxed), now = usage - sum->held;
    before -= before / OTHERS_FADE_PART;
    now = now < before ? before : now;
    atomic_store_explicit(&lately, now, memory_order_relaxed);
    return now;
}

/* Returns the memory that may become usage although no heap takes more.  Idle pages have no memory until they are used
 * again if they were holes when their slab became empty, or if they were never touched.  The result is at most the idle
 * bytes, and at most what is missing in the usage. */
static ptrdiff_t
not_yet_used(const struct sum *sum, ptrdiff_t usage)
{
    ptrdiff_t beyond = sum->held + usage_of_others(sum, usage) - usage;
    return beyond < sum->idle ? beyond : sum->idle;
}

static struct room
room_left(const struct sum *sum)
{
    struct room room = {PTRDIFF_MAX, PTRDIFF_MAX};
    size_t own = own_limit();
    if (own != 0) {
        room = (struct room){(ptrdiff_t)own - sum->held, (ptrdiff_t)own};
    }
    if (atomic_load_explicit(&group_known, memory_order_acquire) &&
        !atomic_load_explicit(&pressure_read_no_more, memory_order_relaxed)) {
        size_t usage = hew_cgroup_usage(&pressure_group);
        ptrdiff_t left = (ptrdiff_t)pressure_group.limit - (ptrdiff_t)usage - not_yet_used(sum, (ptrdiff_t)usage);
        if (usage != 0 && left < room.left) {
            room = (struct room){left, (ptrdiff_t)pressure_group.limit};
        }
    }
    return room;
}

/* Returns the distance at which the limit counts as near. */
static ptrdiff_t
near_of(ptrdiff_t limit)
{
    ptrdiff_t near = limit / NEAR_PART, most = limit / NEAR_MOST_PART;
    near = near < NEAR_LEAST ? NEAR_LEAST : near;
    return near < most ? near : most;
}

/* Returns how much the heaps may take until the next check: half of the distance to where the limit is near, because
 * others take memory too.  Near the limit two steps fit into what is left. */
static ptrdiff_t
step_to_next_look(struct room room)
{
    ptrdiff_t near = near_of(room.limit), least = near / 2, step = (room.left - near) / 2;
    return step < least ? least : step;
}

/* Returns how many parts of the idle memory that decay would keep may stay: all with a quarter of the limit left, none
 * with a twentieth. */
static unsigned
kept_parts(struct room room)
{
    ptrdiff_t none = room.limit / CURVE_PART, all = none * CURVE_FAR_PARTS;
    if (room.left >= all) {
        return HEW_PAGE_BOUND_PARTS;
    }
    return room.left <= none ? 0 : (unsigned)((room.left - none) / ((all - none) / HEW_PAGE_BOUND_PARTS + 1));
}

/* Publishes the result for the other layers. */
static void
tell(struct room room)
{
    unsigned parts = kept_parts(room);
    size_t limit = (size_t)room.limit, more = limit / CACHES_FAR_PART / HEW_PAGE_BOUND_PARTS * parts;
    atomic_store_explicit(&hew_page_bound.caches, limit / CACHES_PART + more, memory_order_relaxed);
    atomic_store_explicit(&hew_page_bound.parts, parts, memory_order_relaxed);
}

/* Returns idle pages to the system: from each heap in proportion to what it has, the oldest first. */
static void
return_idle(size_t wanted)
{
    size_t idle = 0;
    HEW_EACH_PAGE_OWNER(arena)
    {
        idle += hew_page_idle(arena->pages.heap);
    }
    HEW_EACH_PAGE_OWNER(arena)
    {
        size_t own = hew_page_idle(arena->pages.heap);
        if (own != 0 && idle != 0) {
            size_t part = (wanted / IDLE_PARTS + 1) * (own * IDLE_PARTS / idle + 1);
            hew_page_purge_some(arena->pages.heap, part < own ? part : own);
        }
    }
}

static void
trim_all(void)
{
    HEW_EACH_ARENA(arena)
    {
        hew_arena_trim(arena);
    }
}

static void
return_holes(void)
{
    HEW_EACH_ARENA(arena)
    {
        hew_holes_return(arena, hew_clock_ms(), true);
    }
}

/* Returns idle pages to the system.  Returns true if the heaps still hold more than `most`. */
static bool
is_short(ptrdiff_t most, size_t margin)
{
    ptrdiff_t over = atomic_load_explicit(&hew_page_bound.held, memory_order_relaxed) - most;
    if (over > 0) {
        return_idle((size_t)over + margin);
        over = atomic_load_explicit(&hew_page_bound.held, memory_order_relaxed) - most;
    }
    return over > 0;
}

/*
 * Returns free memory to the system until the heaps hold at most `most`, and then `margin` bytes more if available.  It
 * begins with the memory that is cheapest to replace and fastest to find.
 */
static void
return_some(ptrdiff_t most, size_t margin)
{
    if (!is_short(most, margin)) {
        return;
    }
    hew_slot_drain(false);
    hew_depot_drain(false);
    trim_all();
    if (is_short(most, margin)) {
        atomic_fetch_add_explicit(&hew_page_bound.calls, 1, memory_order_relaxed);
        hew_pressure_empty_caches();
        trim_all();
        return_holes();
        is_short(most, margin);
    }
}

/* Returns `missing` bytes to the system before memory is taken. */
static void
relieve(struct sum *sum, struct room *room, size_t missing)
{
    ptrdiff_t before = sum->held;
    atomic_store_explicit(&hew_page_bound.held, before, memory_order_relaxed);
    return_some(missing < (size_t)before ? before - (ptrdiff_t)missing : 0, (size_t)near_of(room->limit));
    *sum = sum_heaps();
    *room = room_left(sum);
    atomic_fetch_add_explicit(&relieved, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&returned, before > sum->held ? (size_t)(before - sum->held) : 0, memory_order_relaxed);
}

HEW_COLD void
hew_pressure_look(size_t size)
{
    if (hew_hooks_depth != 0 || atomic_exchange_explicit(&looking, 1, memory_order_acquire) != 0) {
        return;
    }
    atomic_store_explicit(&hew_page_bound.raised, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&looks, 1, memory_order_relaxed);
    struct sum sum = sum_heaps();
    struct room room = room_left(&sum);
    ptrdiff_t near = near_of(room.limit);
    if (room.left < near || size > (size_t)(room.left - near)) {
        relieve(&sum, &room, (size_t)(near - room.left) + size);
    }
    tell(room);
    atomic_store_explicit(&hew_page_bound.held, sum.held, memory_order_relaxed);
    ptrdiff_t look = room.limit == PTRDIFF_MAX ? PTRDIFF_MAX : sum.held + step_to_next_look(room);
    atomic_store_explicit(&hew_page_bound.look, look, memory_order_relaxed);
    atomic_store_explicit(&looking, 0, memory_order_release);
}

void
hew_pressure_round(void)
{
    /* Far from a limit, growth triggers the next check, so this reads no file.  Near a limit that is not enough,
     * because others take and return memory too. */
    if (hew_page_is_bounded() &&
        atomic_load_explicit(&hew_page_bound.parts, memory_order_relaxed) != HEW_PAGE_BOUND_PARTS) {
        /* Uses the counted value: querying the heaps would empty their large-extent caches. */
        struct sum sum = {.held = atomic_load_explicit(&hew_page_bound.held, memory_order_relaxed)};
        tell(room_left(&sum));
    }
}

/* From now on the heaps' memory is counted, and caches query how much they may hold. */
static void
know_limit(void)
{
    atomic_store_explicit(&hew_page_bound.known, true, memory_order_relaxed);
    hew_budget_note_limit();
}

void
hew_pressure_begin(void)
{
    if (own_limit() == 0) {
        return;
    }
    if (hew_options.limit_hard != 0) {
        atomic_store_explicit(&hew_page_bound.most, (ptrdiff_t)hew_options.limit_hard, memory_order_relaxed);
    }
    struct room room = {(ptrdiff_t)own_limit(), (ptrdiff_t)own_limit()};
    atomic_store_explicit(&hew_page_bound.look, step_to_next_look(room), memory_order_relaxed);
    know_limit();
}

HEW_COLD void
hew_pressure_find(const struct hew_cgroup *group)
{
    if (atomic_load_explicit(&group_known, memory_order_acquire) ||
        atomic_load_explicit(&pressure_read_no_more, memory_order_relaxed)) {
        return;
    }
    pressure_group = group != NULL ? *group : hew_cgroup_find(NULL, NULL);
    if (pressure_group.limit != 0) {
        atomic_store_explicit(&group_known, true, memory_order_release);
        know_limit();
        hew_pressure_look(0);
    }
}

void
hew_pressure_read_no_more(void)
{
    atomic_store_explicit(&pressure_read_no_more, true, memory_order_relaxed);
}

void
hew_pressure_after_fork(void)
{
    atomic_store_explicit(&looking, 0, memory_order_relaxed);
}

struct hew_pressure_counts
hew_pressure_counts(void)
{
    size_t own = own_limit(),
           group = atomic_load_explicit(&group_known, memory_order_acquire) ? pressure_group.limit : 0;
    ptrdiff_t held = atomic_load_explicit(&hew_page_bound.held, memory_order_relaxed);
    return (struct hew_pressure_counts){.limit = own == 0 || (group != 0 && group < own) ? group : own,
                                        .held = held > 0 ? (size_t)held : 0,
                                        .looks = atomic_load_explicit(&looks, memory_order_relaxed),
                                        .relieved = atomic_load_explicit(&relieved, memory_order_relaxed),
                                        .returned = atomic_load_explicit(&returned, memory_order_relaxed),
                                        .purged = atomic_load_explicit(&purged, memory_order_relaxed)};
}

/* SPDX-License-Identifier: MIT */
/*
 * pressure: the system says nothing before it kills, so whoever takes memory looks how near the limit is; seldom where that is far, since a
 * look walks through all heaps and may read two files.
 */
#include "alloc/pressure.h"

#include "base/options.h"
#include "cache/depot.h"
#include "cache/kept.h"
#include "cache/magazine.h"
#include "page/hooks.h"
#include "slab/arena_life.h"

#define NEAR_PART 16 /* of the limit: with less than that left, what is free goes back */
#define STEP_PART 64 /* of the limit: the least growth between two looks, and the least that is worth giving back */
#define STEP_LEAST ((ptrdiff_t)256 << 10)

static struct hew_cgroup pressure_group;                 /* written once, before group_known is set with release */
static _Atomic bool group_known;                         /* acquire pairs with that */
static _Atomic bool pressure_read_no_more;               /* relaxed: set by the thread that has the reason */
static _Atomic uint32_t looking;                         /* 1: a thread looks, and others need not */
static _Atomic size_t looks, relieved, returned, purged; /* relaxed */

/* Bytes of slabs that have no memory. */
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

/* What all heaps have in memory, and what of it nobody uses. */
struct sum {
    ptrdiff_t held, idle;
};

static struct sum
sum_heaps(void)
{
    struct sum sum = {0, 0};
    HEW_EACH_ARENA(arena)
    {
        struct hew_page_counts counts = hew_page_counts(&arena->pages);
        sum.idle += (ptrdiff_t)(counts.dirty + counts.muzzy);
        sum.held += (ptrdiff_t)(counts.active + counts.dirty + counts.muzzy - sum_holes(arena));
    }
    return sum;
}

size_t
hew_pressure_return_all(void)
{
    struct hew_cache *cache = hew_cache_self;
    ptrdiff_t before = sum_heaps().held;
    hew_kept_empty();
    for (unsigned code = 1; hew_cache_is_real(cache) && code <= HEW_CODE_CACHED_LAST; code++) {
        hew_magazine_flush(cache->real, code, 0);
    }
    hew_depot_drain(true);
    hew_arenas_decay(true);
    ptrdiff_t after = sum_heaps().held;
    size_t gone = before > after ? (size_t)(before - after) : 0;
    atomic_store_explicit(&purged, gone, memory_order_relaxed);
    return gone;
}

/* The least of our own limits; 0: none is set. */
static size_t
own_limit(void)
{
    size_t soft = hew_options.limit, hard = hew_options.limit_hard;
    return soft == 0 || (hard != 0 && hard < soft) ? hard : soft;
}

/* How far the nearest limit is, and which. */
struct room {
    ptrdiff_t left, limit;
};

/* What may become usage though no heap takes it: idle pages that were holes when their slab ran empty have no memory until they are
 * used again.  No more than what is idle, and than what the heaps have beyond the usage. */
static ptrdiff_t
not_yet_used(const struct sum *sum, ptrdiff_t usage)
{
    ptrdiff_t beyond = sum->held > usage ? sum->held - usage : 0;
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

/* How much may be taken until the next look: half of the way to where the limit is near, for others take memory, too. */
static ptrdiff_t
step_to_next_look(struct room room)
{
    ptrdiff_t near = room.limit / NEAR_PART, least = room.limit / STEP_PART;
    ptrdiff_t step = room.left > near ? (room.left - near) / 2 : 0;
    least = least < STEP_LEAST ? STEP_LEAST : least;
    return step < least ? least : step;
}

static struct room
relieve(struct sum *sum)
{
    size_t gone = hew_pressure_return_all();
    atomic_fetch_add_explicit(&relieved, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&returned, gone, memory_order_relaxed);
    *sum = sum_heaps();
    return room_left(sum);
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
    ptrdiff_t near = room.limit / NEAR_PART, free = sum.idle + (ptrdiff_t)hew_depot_counts().bytes;
    bool is_near = room.left < near || size > (size_t)(room.left - near);
    atomic_store_explicit(&hew_page_bound.near, is_near, memory_order_relaxed);
    if (is_near && free >= room.limit / STEP_PART) {
        room = relieve(&sum);
    }
    atomic_store_explicit(&hew_page_bound.held, sum.held, memory_order_relaxed);
    ptrdiff_t look = room.limit == PTRDIFF_MAX ? PTRDIFF_MAX : sum.held + step_to_next_look(room);
    atomic_store_explicit(&hew_page_bound.look, look, memory_order_relaxed);
    atomic_store_explicit(&looking, 0, memory_order_release);
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
    atomic_store_explicit(&hew_page_bound.known, true, memory_order_relaxed);
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
        atomic_store_explicit(&hew_page_bound.known, true, memory_order_relaxed);
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

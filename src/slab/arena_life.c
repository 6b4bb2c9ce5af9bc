/* SPDX-License-Identifier: MIT */
/*
 * arena_life: resets an arena while the program may still hold addresses of its objects.  The arena is marked as busy
 * under the lock and emptied without one, because extent hooks of the program may run meanwhile.
 */
#include "slab/arena_life.h"

#include "meta/memory.h"
#include "os/clock.h"
#include "os/futex.h"
#include "slab/large.h"

#include <string.h>

#define NAP_MS 1

static struct hew_arena *destroyed; /* guarded by hew_arenas_lock: the sum of the counters of destroyed arenas */

int
hew_arena_create(struct hew_extent_hooks *hooks)
{
    hew_mutex_lock(&hew_arenas_lock);
    unsigned index = hew_arena_new_number();
    struct hew_arena *arena = index == HEW_ARENAS_MAX ? NULL : hew_arena_make(index, true);
    if (arena != NULL && hooks != NULL) {
        hew_arena_set_hooks(arena, hooks);
    }
    hew_mutex_unlock(&hew_arenas_lock);
    return arena == NULL ? -1 : (int)index;
}

struct hew_arena *
hew_arena_find(unsigned index)
{
    if (index >= hew_arenas_count()) {
        return NULL;
    }
    struct hew_arena *arena = hew_arena_at(index);
    return arena == NULL && index < hew_arena_limit() ? hew_arena_get(index) : arena;
}

bool
hew_arena_join(struct hew_arena *arena)
{
    hew_mutex_lock(&hew_arenas_lock);
    bool lives = arena->life == HEW_ARENA_LIVES;
    if (lives) {
        atomic_fetch_add_explicit(&arena->threads, 1, memory_order_relaxed);
    }
    hew_mutex_unlock(&hew_arenas_lock);
    return lives;
}

void
hew_arena_leave(struct hew_arena *arena)
{
    atomic_fetch_sub_explicit(&arena->threads, 1, memory_order_relaxed);
}

/* Threads that trim a busy arena are soon done, and no other thread begins. */
static void
await_trims(struct hew_arena *arena)
{
    _Atomic uint32_t never = 0;
    /* acquire: pairs with the release in hew_arena_end_trim() */
    while (atomic_load_explicit(&arena->trims, memory_order_acquire) != 0) {
        hew_futex_wait(&never, 0, NAP_MS);
    }
}

/* Marks a manual arena as busy; NULL when that cannot be. */
static struct hew_arena *
seize(unsigned index, bool joined_too)
{
    if (index >= HEW_ARENAS_MAX || hew_hooks_depth != 0) {
        return NULL;
    }
    hew_mutex_lock(&hew_arenas_lock);
    struct hew_arena *arena = hew_arena_at(index);
    if (arena != NULL && (!arena->manual || arena->life != HEW_ARENA_LIVES || (arena->threads != 0 && !joined_too))) {
        arena = NULL;
    }
    if (arena != NULL) {
        arena->life = HEW_ARENA_BUSY;
    }
    hew_mutex_unlock(&hew_arenas_lock);
    if (arena != NULL) {
        await_trims(arena);
    }
    return arena;
}

static struct hew_extent *
any_large(struct hew_arena *arena)
{
    hew_mutex_lock(&arena->pages.heap->lock);
    struct hew_list *node = hew_list_first(&arena->larges);
    hew_mutex_unlock(&arena->pages.heap->lock);
    return node == NULL ? NULL : HEW_CONTAINER(node, struct hew_extent, large.link);
}

/* Without locks.  Frees every object. */
static void
arena_empty(struct hew_arena *arena, hew_arena_gone gone)
{
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        hew_bin_clear(&arena->bins[code], arena->pages.heap);
    }
    struct hew_extent *extent;
    while ((extent = any_large(arena)) != NULL) {
        if (gone != NULL) {
            gone(extent);
        }
        hew_large_give(extent);
    }
}

bool
hew_arena_reset(unsigned index, hew_arena_gone gone)
{
    struct hew_arena *arena = seize(index, true);
    if (arena == NULL) {
        return false;
    }
    arena_empty(arena, gone);
    hew_mutex_lock(&hew_arenas_lock);
    arena->life = HEW_ARENA_LIVES;
    hew_mutex_unlock(&hew_arenas_lock);
    return true;
}

static void
move_count(_Atomic uint64_t *to, _Atomic uint64_t *from)
{
    atomic_fetch_add_explicit(to, atomic_exchange_explicit(from, 0, memory_order_relaxed), memory_order_relaxed);
}

/* Locks the sum, too: statistics read it under its own locks. */
static void
fold_bin(struct hew_bin *sum, struct hew_bin *bin)
{
    hew_mutex_lock(&bin->lock);
    hew_mutex_lock(&sum->lock);
    sum->counts.nmalloc += bin->counts.nmalloc;
    sum->counts.ndalloc += bin->counts.ndalloc;
    sum->counts.fills += bin->counts.fills;
    sum->counts.flushes += bin->counts.flushes;
    sum->counts.slabs_ever += bin->counts.slabs_ever;
    sum->counts.reslabs += bin->counts.reslabs;
    sum->counts.holes_purged += bin->counts.holes_purged;
    sum->counts.holes_refaulted += bin->counts.holes_refaulted;
    sum->counts.holes_calls += bin->counts.holes_calls;
    bin->counts = (struct hew_bin_counts){0};
    hew_mutex_unlock(&sum->lock);
    hew_mutex_unlock(&bin->lock);
}

static void
fold_pages(struct hew_page_counts *sum, const struct hew_page_counts *counts)
{
    sum->abandoned += counts->abandoned;
    sum->dirty_purged += counts->dirty_purged;
    sum->muzzy_purged += counts->muzzy_purged;
    sum->dirty_purges += counts->dirty_purges;
    sum->muzzy_purges += counts->muzzy_purges;
    sum->dirty_calls += counts->dirty_calls;
    sum->muzzy_calls += counts->muzzy_calls;
    sum->maps += counts->maps;
    sum->pieces_moved += counts->pieces_moved;
    sum->bytes_moved += counts->bytes_moved;
}

/* hew_arenas_lock held.  Adds the arena's counters to the sum, and clears them.  Without memory for the sum this is not
 * called: then the next arena of that number continues these counts. */
static void
fold(struct hew_arena *sum, struct hew_arena *arena)
{
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        fold_bin(&sum->bins[code], &arena->bins[code]);
    }
    for (unsigned index = 0; index < HEW_LARGE_CLASSES; index++) {
        move_count(&sum->large[index].nmalloc, &arena->large[index].nmalloc);
        move_count(&sum->large[index].ndalloc, &arena->large[index].ndalloc);
        move_count(&sum->large[index].nrequests, &arena->large[index].nrequests);
    }
    for (unsigned code = 0; code < HEW_CODES; code++) {
        move_count(&sum->requests[code], &arena->requests[code]);
    }
    struct hew_page_counts counts = hew_page_counts(&arena->own_pages);
    hew_mutex_lock(&sum->own_pages.lock);
    fold_pages(&sum->own_pages.counts, &counts);
    hew_mutex_unlock(&sum->own_pages.lock);
    arena->large_bytes = 0;
}

/* hew_arenas_lock held.  Returns the sum, made if it is new.  Its number is the one that mallctl gives it. */
static struct hew_arena *
begun_sum(void)
{
    if (destroyed == NULL && (destroyed = hew_meta_take(sizeof *destroyed)) != NULL) {
        destroyed->pages.heap = &destroyed->own_pages;
        hew_page_heap_begin(&destroyed->own_pages, 0, hew_clock_ms());
        HEW_MUTEX_PLACE(&destroyed->own_pages.lock, page, HEW_ARENAS_MAX); /* taken after any arena's */
        hew_arena_place_bins(destroyed, HEW_ARENAS_MAX);
        atomic_store_explicit(&destroyed->born_ns, hew_clock_ns(), memory_order_relaxed);
    }
    return destroyed;
}

bool
hew_arena_destroy(unsigned index, hew_arena_gone gone)
{
    struct hew_arena *heir = hew_arena_get(0), *arena = heir == NULL ? NULL : seize(index, false);
    if (arena == NULL) {
        return false;
    }
    arena_empty(arena, gone);
    hew_page_heap_end(&arena->own_pages, heir->pages.heap);
    hew_mutex_lock(&hew_arenas_lock);
    struct hew_arena *sum = begun_sum();
    if (sum != NULL) {
        fold(sum, arena);
    }
    hew_arena_unmake(arena);
    hew_mutex_unlock(&hew_arenas_lock);
    return true;
}

struct hew_arena *
hew_arenas_destroyed(void)
{
    hew_mutex_lock(&hew_arenas_lock);
    struct hew_arena *sum = destroyed;
    hew_mutex_unlock(&hew_arenas_lock);
    return sum;
}

void
hew_arena_life_after_fork(void)
{
    hew_arenas_after_fork();
    HEW_EACH_ARENA(arena)
    {
        arena->trims = 0;
        hew_holes_after_fork(arena);
        if (arena->life == HEW_ARENA_BUSY && hew_hooks_depth == 0) { /* otherwise a hook forked during destroy */
            arena->life = HEW_ARENA_LIVES;
            arena->own_pages.ending = false;
        }
    }
    /* Only readers of statistics lock the sum's parts without hew_arenas_lock. */
    for (unsigned code = 1; destroyed != NULL && code <= HEW_CODE_SMALL_LAST; code++) {
        hew_mutex_after_fork(&destroyed->bins[code].lock);
    }
    if (destroyed != NULL) {
        hew_mutex_after_fork(&destroyed->own_pages.lock);
    }
}

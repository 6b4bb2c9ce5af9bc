/* SPDX-License-Identifier: MIT */
/*
 * arena_settings: the second half of arena_life.h: the settings of one arena, or of arenas made later.
 */
#include "os/clock.h"
#include "slab/arena_life.h"

#include <string.h>

void
hew_arena_set_name(struct hew_arena *arena, const char *name)
{
    size_t length = strnlen(name, HEW_ARENA_NAME_BYTES - 1);
    hew_mutex_lock(&hew_arenas_lock);
    memset(arena->name, 0, sizeof arena->name);
    memcpy(arena->name, name, length);
    hew_mutex_unlock(&hew_arenas_lock);
}

void
hew_arena_get_name(struct hew_arena *arena, char name[HEW_ARENA_NAME_BYTES])
{
    hew_mutex_lock(&hew_arenas_lock);
    memcpy(name, arena->name, HEW_ARENA_NAME_BYTES);
    hew_mutex_unlock(&hew_arenas_lock);
}

/* Programs get jemalloc's type, which is not const.  They must not write to the default table, which lies in read-only
 * memory. */
static struct hew_extent_hooks *
table(struct hew_extent_hooks *hooks)
{
    return hooks != NULL ? hooks : (struct hew_extent_hooks *)(uintptr_t)&hew_hooks_default;
}

struct hew_extent_hooks *
hew_arena_hooks(struct hew_arena *arena)
{
    hew_mutex_lock(&arena->pages.heap->lock);
    struct hew_extent_hooks *hooks = arena->pages.heap->hooks;
    hew_mutex_unlock(&arena->pages.heap->lock);
    return table(hooks);
}

struct hew_extent_hooks *
hew_arena_set_hooks(struct hew_arena *arena, struct hew_extent_hooks *hooks)
{
    return table(hew_page_set_hooks(arena->pages.heap, hooks));
}

/* hew_arenas_lock held. */
static struct hew_arena_defaults *
known_defaults(void)
{
    struct hew_arena_defaults *defaults = &hew_arena_defaults;
    if (!defaults->set) {
        *defaults =
            (struct hew_arena_defaults){true, hew_options.dirty_decay_ms, hew_options.muzzy_decay_ms, hew_options.dss};
    }
    return defaults;
}

static struct hew_decay *
decay_of(struct hew_arena *arena, enum hew_decay_kind kind)
{
    return kind == HEW_DECAY_DIRTY ? &arena->pages.heap->dirty_decay : &arena->pages.heap->muzzy_decay;
}

int64_t
hew_arena_decay_ms(struct hew_arena *arena, enum hew_decay_kind kind)
{
    struct hew_mutex *lock = arena == NULL ? &hew_arenas_lock : &arena->pages.heap->lock;
    hew_mutex_lock(lock);
    int64_t decay_ms;
    if (arena == NULL) {
        decay_ms = kind == HEW_DECAY_DIRTY ? known_defaults()->dirty_ms : known_defaults()->muzzy_ms;
    } else {
        decay_ms = decay_of(arena, kind)->decay_ms;
    }
    hew_mutex_unlock(lock);
    return decay_ms;
}

void
hew_arena_set_decay_ms(struct hew_arena *arena, enum hew_decay_kind kind, int64_t decay_ms)
{
    if (arena != NULL) {
        hew_arena_trim(arena);
        hew_page_set_decay(arena->pages.heap, decay_of(arena, kind), decay_ms, hew_clock_ms());
        return;
    }
    hew_mutex_lock(&hew_arenas_lock);
    struct hew_arena_defaults *defaults = known_defaults();
    *(kind == HEW_DECAY_DIRTY ? &defaults->dirty_ms : &defaults->muzzy_ms) = decay_ms;
    hew_mutex_unlock(&hew_arenas_lock);
}

enum hew_dss
hew_arena_dss(struct hew_arena *arena)
{
    struct hew_mutex *lock = arena == NULL ? &hew_arenas_lock : &arena->pages.heap->lock;
    hew_mutex_lock(lock);
    enum hew_dss dss = arena == NULL ? known_defaults()->dss : (enum hew_dss)arena->pages.heap->dss;
    hew_mutex_unlock(lock);
    return dss;
}

void
hew_arena_set_dss(struct hew_arena *arena, enum hew_dss dss)
{
    struct hew_mutex *lock = arena == NULL ? &hew_arenas_lock : &arena->pages.heap->lock;
    hew_mutex_lock(lock);
    if (arena == NULL) {
        known_defaults()->dss = dss;
    } else {
        arena->pages.heap->dss = (uint8_t)dss;
    }
    hew_mutex_unlock(lock);
}

size_t
hew_arena_oversize_threshold(const struct hew_arena *arena)
{
    size_t bytes = atomic_load_explicit(&arena->oversize_threshold, memory_order_relaxed);
    return bytes == SIZE_MAX ? 0 : bytes;
}

void
hew_arena_set_oversize_threshold(struct hew_arena *arena, size_t bytes)
{
    atomic_store_explicit(&arena->oversize_threshold, bytes == 0 ? SIZE_MAX : bytes, memory_order_relaxed);
}

size_t
hew_arena_retain_grow_limit(struct hew_arena *arena)
{
    hew_mutex_lock(&arena->pages.heap->lock);
    size_t bytes = arena->pages.heap->grow_limit;
    hew_mutex_unlock(&arena->pages.heap->lock);
    return bytes;
}

/* The largest page-size class that is no larger: 1, 2, 3, 4, 5, 6, 7, 8, 10, 12 ... pages. */
static size_t
page_class_floor(size_t bytes)
{
    if (bytes >= HEW_OPTION_CLASS_MAX) {
        return HEW_OPTION_CLASS_MAX;
    }
    size_t pages = bytes >> HEW_LG_PAGE;
    unsigned top = hew_bits_floor_log2(pages);
    return (top < 2 ? pages : pages >> (top - 2) << (top - 2)) << HEW_LG_PAGE;
}

bool
hew_arena_set_retain_grow_limit(struct hew_arena *arena, size_t bytes)
{
    if (bytes < HEW_PAGE) {
        return false;
    }
    hew_mutex_lock(&arena->pages.heap->lock);
    arena->pages.heap->grow_limit = page_class_floor(bytes);
    hew_mutex_unlock(&arena->pages.heap->lock);
    return true;
}

uint64_t
hew_arena_uptime_ns(const struct hew_arena *arena)
{
    return hew_clock_ns() - atomic_load_explicit(&arena->born_ns, memory_order_relaxed);
}

/* Releases empty slabs, and the holes of others. */
static void
decay_slabs(struct hew_arena *arena, uint64_t now, bool all)
{
    if (hew_arena_begin_trim(arena)) {
        hew_arena_trim(arena);
        hew_holes_return(arena, now, all);
        hew_arena_end_trim(arena);
    }
}

static void
decay_pages(struct hew_arena *arena, uint64_t now, bool all)
{
    if (hew_arena_begin_trim(arena)) {
        hew_page_decay(arena->pages.heap, now, all);
        hew_arena_end_trim(arena);
    }
}

void
hew_arena_decay(struct hew_arena *arena, bool all)
{
    uint64_t now = hew_clock_ms();
    decay_slabs(arena, now, all);
    decay_pages(arena, now, all);
}

void
hew_arenas_decay(bool all)
{
    uint64_t now = hew_clock_ms();
    HEW_EACH_ARENA(arena)
    {
        decay_slabs(arena, now, all);
    }
    HEW_EACH_PAGE_OWNER(arena)
    {
        decay_pages(arena, now, all);
    }
}

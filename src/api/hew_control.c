/* SPDX-License-Identifier: MIT */
/*
 * hew_control: the functions of hew/hew.h that call mallctl names.
 */
#include "api/boot.h"
#include "control/mallctl/ctl_tree.h"
#include "control/mallctl/ctl_value.h"
#include "hew/hew.h"
#include "stats/snapshot.h"

#include <errno.h>
#include <string.h>

enum { ARENA_OWN = 0, ARENA_FIRST = 1, CACHE_OWN = 0, CACHE_FIRST = 2, EVERY_ARENA = 4096 };

/* Calls mallctl's "arena.<i>.<action>", with or without a value. */
static int
arena_control(const char *name, size_t index, const void *value, size_t size)
{
    size_t mib[HEW_CTL_DEPTH_MAX], depth = HEW_CTL_DEPTH_MAX;
    hew_boot();
    int error = hew_ctl_to_mib(name, mib, &depth);
    if (error != 0) {
        return error;
    }
    mib[1] = index;
    struct hew_ctl_call call = {.mib = mib, .depth = depth, .new = value, .new_length = size};
    return hew_ctl_by_mib(&call);
}

static int
read_value(const char *name, void *value, size_t size)
{
    hew_boot();
    return hew_ctl_by_name(name, value, &size, NULL, 0);
}

static int
write_value(const char *name, const void *value, size_t size)
{
    hew_boot();
    return hew_ctl_by_name(name, NULL, NULL, value, size);
}

HEW_EXPORT int
hew_make_arena(hew_arena_id *arena, struct extent_hooks_s *hooks)
{
    unsigned index = 0;
    size_t length = sizeof index;
    hew_boot();
    int error = hew_ctl_by_name("arenas.create", &index, &length, hooks == NULL ? NULL : &hooks,
                                hooks == NULL ? 0 : sizeof(struct extent_hooks_s *));
    arena->number = error == 0 ? index + ARENA_FIRST : ARENA_OWN;
    return error;
}

HEW_EXPORT int
hew_reset_arena(hew_arena_id arena)
{
    return arena.number == ARENA_OWN ? EFAULT : arena_control("arena.0.reset", arena.number - ARENA_FIRST, NULL, 0);
}

HEW_EXPORT int
hew_destroy_arena(hew_arena_id arena)
{
    return arena.number == ARENA_OWN ? EFAULT : arena_control("arena.0.destroy", arena.number - ARENA_FIRST, NULL, 0);
}

HEW_EXPORT int
hew_use_arena(hew_arena_id arena)
{
    unsigned index = arena.number - ARENA_FIRST;
    return arena.number == ARENA_OWN ? 0 : write_value("thread.arena", &index, sizeof index);
}

HEW_EXPORT int
hew_arena_of(const void *object, hew_arena_id *arena)
{
    unsigned index = 0;
    size_t length = sizeof index;
    hew_boot();
    int error = hew_ctl_by_name("arenas.lookup", &index, &length, &object, sizeof object);
    arena->number = error == 0 ? index + ARENA_FIRST : ARENA_OWN;
    return error;
}

HEW_EXPORT int
hew_purge(hew_arena_id arena)
{
    return arena_control("arena.0.purge", arena.number == ARENA_OWN ? EVERY_ARENA : arena.number - ARENA_FIRST, NULL,
                         0);
}

HEW_EXPORT int
hew_set_decay(hew_arena_id arena, int64_t dirty_ms, int64_t muzzy_ms)
{
    if (arena.number == ARENA_OWN) {
        int error = write_value("arenas.dirty_decay_ms", &dirty_ms, sizeof dirty_ms);
        return error != 0 ? error : write_value("arenas.muzzy_decay_ms", &muzzy_ms, sizeof muzzy_ms);
    }
    size_t index = arena.number - ARENA_FIRST;
    int error = arena_control("arena.0.dirty_decay_ms", index, &dirty_ms, sizeof dirty_ms);
    return error != 0 ? error : arena_control("arena.0.muzzy_decay_ms", index, &muzzy_ms, sizeof muzzy_ms);
}

HEW_EXPORT int
hew_make_cache(hew_cache_id *cache)
{
    unsigned number = 0;
    int error = read_value("tcache.create", &number, sizeof number);
    cache->number = error == 0 ? number + CACHE_FIRST : CACHE_OWN;
    return error;
}

/* A missing explicit cache is ENOENT here, as elsewhere in hew.h; mallctl returns EFAULT. */
static int
cache_control(const char *name, hew_cache_id cache)
{
    unsigned number = cache.number - CACHE_FIRST;
    int error = cache.number < CACHE_FIRST ? ENOENT : write_value(name, &number, sizeof number);
    return error == EFAULT ? ENOENT : error;
}

/* mallctl returns EFAULT for a thread without a cache.  Here that is success: there is nothing to flush. */
HEW_EXPORT int
hew_flush_cache(hew_cache_id cache)
{
    if (cache.number != CACHE_OWN) {
        return cache_control("tcache.flush", cache);
    }
    int error = hew_do("thread.tcache.flush");
    return error == EFAULT ? 0 : error;
}

HEW_EXPORT int
hew_destroy_cache(hew_cache_id cache)
{
    return cache_control("tcache.destroy", cache);
}

static uint64_t
of_all_arenas(size_t offset)
{
    uint64_t number = 0;
    hew_stats_arena_number(HEW_STATS_ALL, offset, &number);
    return number;
}

HEW_EXPORT void
hew_read_figures(struct hew_figures *figures, size_t size)
{
    hew_boot();
    hew_stats_take();
    struct hew_stats_totals totals = hew_stats_totals();
    struct hew_figures all = {
        .allocated = totals.allocated,
        .cached = of_all_arenas(offsetof(struct hew_stats_arena, tcache_bytes)),
        .active = totals.active,
        .dirty = of_all_arenas(offsetof(struct hew_stats_arena, pdirty)) * HEW_PAGE,
        .muzzy = of_all_arenas(offsetof(struct hew_stats_arena, pmuzzy)) * HEW_PAGE,
        .retained = totals.retained,
        .mapped = totals.mapped,
        .metadata = totals.metadata,
        .resident = totals.resident,
        .purged = (of_all_arenas(offsetof(struct hew_stats_arena, dirty_purged)) +
                   of_all_arenas(offsetof(struct hew_stats_arena, muzzy_purged))) *
                  HEW_PAGE,
        .arenas = hew_arenas_count(),
        .threads = (unsigned)of_all_arenas(offsetof(struct hew_stats_arena, nthreads)),
    };
    memset(figures, 0, size);
    memcpy(figures, &all, size < sizeof all ? size : sizeof all);
}

/* Returns the type of a name's value; HEW_CTL_VOID: it has no value. */
static enum hew_ctl_type
type_of(const char *name)
{
    size_t mib[HEW_CTL_DEPTH_MAX], depth = HEW_CTL_DEPTH_MAX;
    hew_boot();
    const struct hew_ctl_node *node = hew_ctl_to_mib(name, mib, &depth) == 0 ? hew_ctl_tree_root() : NULL;
    for (size_t part = 0; node != NULL && part < depth; part++) {
        node = hew_ctl_tree_child(node, mib[part]);
    }
    const struct hew_ctl_row *row = node == NULL ? NULL : hew_ctl_tree_row(node);
    return row == NULL ? HEW_CTL_VOID : (enum hew_ctl_type)row->type;
}

static bool
is_number(enum hew_ctl_type type)
{
    return type >= HEW_CTL_BOOL && type <= HEW_CTL_SSIZE;
}

/* The error for a name of the wrong type: the name does not exist, or its type differs. */
static int
wrong_type(enum hew_ctl_type type)
{
    return type == HEW_CTL_VOID ? ENOENT : EINVAL;
}

HEW_EXPORT int
hew_read_number(const char *name, int64_t *number)
{
    enum hew_ctl_type type = type_of(name);
    *number = 0; /* a narrower value fills the low bytes */
    return is_number(type) ? read_value(name, number, hew_ctl_type_size(type)) : wrong_type(type);
}

HEW_EXPORT int
hew_write_number(const char *name, int64_t number)
{
    enum hew_ctl_type type = type_of(name);
    size_t width = hew_ctl_type_size(type);
    if (!is_number(type)) {
        return wrong_type(type);
    }
    bool fits = width == sizeof number || (uint64_t)number >> 8 * width == 0;
    return fits ? write_value(name, &number, width) : EINVAL;
}

HEW_EXPORT int
hew_read_text(const char *name, const char **text)
{
    enum hew_ctl_type type = type_of(name);
    *text = NULL;
    return type == HEW_CTL_TEXT ? read_value(name, text, sizeof *text) : wrong_type(type);
}

HEW_EXPORT int
hew_write_text(const char *name, const char *text)
{
    enum hew_ctl_type type = type_of(name);
    return type == HEW_CTL_TEXT ? write_value(name, &text, sizeof text) : wrong_type(type);
}

HEW_EXPORT int
hew_do(const char *name)
{
    hew_boot();
    return hew_ctl_by_name(name, NULL, NULL, NULL, 0);
}

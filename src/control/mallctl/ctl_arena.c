/* SPDX-License-Identifier: MIT */
/*
 * ctl_arena: arena.<i>.*, one arena, or all of them.
 *
 * The index may be an arena's; 4096, or the number of arenas (as in old programs), for all; 4097 for destroyed ones.
 * An operation that makes no sense for the index, or for an arena that no thread has used yet, is EFAULT.
 */
#include "control/mallctl/ctl_arena.h"
#include "alloc/alloc.h"
#include "alloc/pressure.h"
#include "base/options.h"
#include "cache/depot.h"
#include "cache/magazine.h"
#include "cache/thread.h"
#include "control/mallctl/ctl_names_macros.h"
#include "control/mallctl/ctl_value.h"
#include "control/purger.h"
#include "prof/profiler.h"
#include "slab/arena_life.h"

#include <errno.h>
#include <string.h>

static size_t
index_of(const struct hew_ctl_call *call)
{
    return call->mib[1];
}

static bool
means_all(size_t index)
{
    return index == HEW_CTL_ARENAS_ALL || index == hew_arenas_count();
}

/* The arena of that index; NULL also for one that no thread has used yet. */
static struct hew_arena *
arena_of(const struct hew_ctl_call *call)
{
    return index_of(call) < hew_arenas_count() ? hew_arena_at((unsigned)index_of(call)) : NULL;
}

int
hew_ctl_arena_index(const struct hew_ctl_call *call)
{
    size_t index = index_of(call);
    return index <= hew_arenas_count() || index == HEW_CTL_ARENAS_ALL || index == HEW_CTL_ARENAS_DESTROYED ? 0 : ENOENT;
}

int
hew_ctl_arena_initialized(const struct hew_ctl_call *call)
{
    return hew_ctl_read_bool(call, means_all(index_of(call)) || arena_of(call) != NULL);
}

static void
decay(const struct hew_ctl_call *call, bool everything)
{
    if (means_all(index_of(call))) {
        hew_arenas_decay(everything);
    } else if (arena_of(call) != NULL) {
        hew_arena_decay(arena_of(call), everything);
    }
}

int
hew_ctl_arena_decay(const struct hew_ctl_call *call)
{
    decay(call, false);
    return 0;
}

int
hew_ctl_arena_purge(const struct hew_ctl_call *call)
{
    if (index_of(call) == HEW_CTL_ARENAS_ALL) {
        hew_pressure_return_all();
        return 0;
    }
    hew_slot_drain(true);
    hew_depot_drain(true); /* the per-CPU caches may hold objects of any arena */
    decay(call, true);
    return 0;
}

/* A large object is freed together with its arena. */
static void
gone(struct hew_extent *extent)
{
    if (extent->large.sample != NULL) {
        hew_prof_forget_place(extent);
        hew_upcalls.sample_freed(extent);
    }
}

/* The arena whose objects must all be freed.  At least the calling thread has none of them in its cache afterwards. */
static bool
is_to_be_emptied(const struct hew_ctl_call *call)
{
    struct hew_arena *arena = arena_of(call);
    struct hew_cache *cache = arena != NULL && arena->manual ? hew_alloc_own_cache() : NULL;
    if (cache != NULL) {
        hew_magazine_send_all_home(cache);
    }
    return arena != NULL;
}

int
hew_ctl_arena_reset(const struct hew_ctl_call *call)
{
    return is_to_be_emptied(call) && hew_arena_reset((unsigned)index_of(call), gone) ? 0 : EFAULT;
}

int
hew_ctl_arena_destroy(const struct hew_ctl_call *call)
{
    return is_to_be_emptied(call) && hew_arena_destroy((unsigned)index_of(call), gone) ? 0 : EFAULT;
}

/* Parses the program's choice; false when the word is unknown. */
static bool
choose_dss(const char *word, enum hew_dss *dss)
{
    const char *const *words = hew_option_words(&hew_option_table[HEW_CTL_OPTION_dss]);
    for (unsigned choice = 0; word != NULL && words[choice] != NULL; choice++) {
        if (strcmp(word, words[choice]) == 0) {
            /* NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): as many words as choices */
            *dss = (enum hew_dss)choice;
            return true;
        }
    }
    return false;
}

/* For all arenas, it applies to arenas created later. */
int
hew_ctl_arena_dss(const struct hew_ctl_call *call)
{
    bool all = means_all(index_of(call));
    const char *word = NULL;
    enum hew_dss dss = HEW_DSS_DISABLED;
    int error = hew_ctl_write(call, &word, sizeof word);
    if (error != 0 || (call->new != NULL && !choose_dss(word, &dss))) {
        return EINVAL;
    }
    struct hew_arena *arena = arena_of(call);
    if (arena == NULL && !all) {
        return EFAULT;
    }
    const char *const *words = hew_option_words(&hew_option_table[HEW_CTL_OPTION_dss]);
    error = hew_ctl_read_pointer(call, words[hew_arena_dss(arena)]);
    if (error == 0 && call->new != NULL) {
        hew_arena_set_dss(arena, dss);
    }
    return error;
}

int
hew_ctl_arena_oversize_threshold(const struct hew_ctl_call *call)
{
    struct hew_arena *arena = arena_of(call);
    if (arena == NULL) {
        return EFAULT;
    }
    size_t before = hew_arena_oversize_threshold(arena), after;
    int error = hew_ctl_exchange(call, &before, &after, sizeof after);
    if (error == 0 && call->new != NULL) {
        hew_arena_set_oversize_threshold(arena, after);
    }
    return error;
}

int
hew_ctl_exchange_decay_ms(const struct hew_ctl_call *call, struct hew_arena *arena)
{
    enum hew_decay_kind kind = call->row->field == HEW_CTL_DIRTY ? HEW_DECAY_DIRTY : HEW_DECAY_MUZZY;
    int64_t before = hew_arena_decay_ms(arena, kind), after = before;
    int error = hew_ctl_write(call, &after, sizeof after);
    if (error == 0 && call->new != NULL && after < -1) {
        error = EFAULT;
    }
    error = error != 0 ? error : hew_ctl_read(call, &before, sizeof before);
    if (error == 0 && call->new != NULL) {
        hew_arena_set_decay_ms(arena, kind, after);
    }
    return error;
}

int
hew_ctl_arena_decay_ms(const struct hew_ctl_call *call)
{
    struct hew_arena *arena = arena_of(call);
    return arena == NULL ? EFAULT : hew_ctl_exchange_decay_ms(call, arena);
}

/* Setting the hooks of an unused automatic arena creates it. */
int
hew_ctl_arena_extent_hooks(const struct hew_ctl_call *call)
{
    if (index_of(call) >= hew_arenas_count()) {
        return EFAULT;
    }
    struct hew_arena *arena = arena_of(call);
    struct hew_extent_hooks *before =
        arena != NULL ? hew_arena_hooks(arena) : (struct hew_extent_hooks *)(uintptr_t)&hew_hooks_default;
    struct hew_extent_hooks *after = before;
    int error = hew_ctl_write(call, &after, sizeof after);
    if (error == 0 && (after == NULL || after->alloc == NULL)) {
        error = EINVAL;
    }
    bool sets = error == 0 && call->new != NULL &&hew_ctl_fits(call, sizeof before);
    if (sets && (arena = hew_arena_find((unsigned)index_of(call))) == NULL) {
        error = EFAULT;
    } else if (sets) {
        hew_purger_before_hooks();
        before = hew_arena_set_hooks(arena, after);
    }
    return error != 0 ? error : hew_ctl_read_pointer(call, before);
}

int
hew_ctl_arena_retain_grow_limit(const struct hew_ctl_call *call)
{
    struct hew_arena *arena = arena_of(call);
    if (!hew_options.retain) {
        return ENOENT;
    }
    if (arena == NULL) {
        return EFAULT;
    }
    size_t before = hew_arena_retain_grow_limit(arena), after = before;
    int error = hew_ctl_write(call, &after, sizeof after);
    if (error == 0 && call->new != NULL && hew_ctl_fits(call, sizeof before)) {
        error = hew_arena_set_retain_grow_limit(arena, after) ? 0 : EFAULT;
    }
    return error != 0 ? error : hew_ctl_read_uint64(call, before);
}

/* A reader passes the address of a pointer to its own buffer of HEW_ARENA_NAME_BYTES. */
int
hew_ctl_arena_name(const struct hew_ctl_call *call)
{
    const char *name = "";
    char *buffer = NULL;
    int error = hew_ctl_write(call, &name, sizeof name);
    if (error == 0 && call->old != NULL) {
        error = *call->old_length == sizeof buffer ? 0 : EINVAL;
    }
    if (error != 0 || name == NULL) {
        return EINVAL;
    }
    struct hew_arena *arena = arena_of(call);
    if (arena == NULL) {
        return EFAULT;
    }
    if (call->old != NULL) {
        memcpy(&buffer, call->old, sizeof buffer);
        if (buffer == NULL) {
            return EINVAL;
        }
        hew_arena_get_name(arena, buffer);
    }
    if (call->new != NULL) {
        hew_arena_set_name(arena, name);
    }
    return 0;
}

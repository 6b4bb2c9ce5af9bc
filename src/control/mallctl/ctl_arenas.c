/* SPDX-License-Identifier: MIT */
/*
 * ctl_arenas: arenas.*: properties of all arenas, and creating arenas.
 */
#include "alloc/utilization.h"
#include "base/options.h"
#include "control/mallctl/ctl_arena.h"
#include "control/mallctl/ctl_value.h"
#include "control/purger.h"
#include "slab/arena_life.h"

#include <errno.h>

static size_t
last_index(const struct hew_ctl_call *call)
{
    return call->mib[call->depth - 1];
}

/* The class of arenas.bin.<i>.*. */
static const struct hew_slab_shape *
shape_of(const struct hew_ctl_call *call)
{
    return &hew_slab_shapes[call->mib[2] + 1];
}

int
hew_ctl_arenas_bin_index(const struct hew_ctl_call *call)
{
    return last_index(call) < hew_small_classes ? 0 : ENOENT;
}

int
hew_ctl_arenas_bin_size(const struct hew_ctl_call *call)
{
    return hew_ctl_read_uint64(call, shape_of(call)->size);
}

int
hew_ctl_arenas_bin_nregs(const struct hew_ctl_call *call)
{
    return hew_ctl_read_unsigned(call, shape_of(call)->regions);
}

int
hew_ctl_arenas_bin_slab_size(const struct hew_ctl_call *call)
{
    return hew_ctl_read_uint64(call, shape_of(call)->pages * HEW_PAGE);
}

int
hew_ctl_arenas_lextent_index(const struct hew_ctl_call *call)
{
    return last_index(call) < HEW_CLASSES_LARGE ? 0 : ENOENT;
}

int
hew_ctl_arenas_lextent_size(const struct hew_ctl_call *call)
{
    return hew_ctl_read_uint64(call, hew_class_size(HEW_CODE_SMALL_LAST + (unsigned)call->mib[2]));
}

int
hew_ctl_arenas_nbins(const struct hew_ctl_call *call)
{
    return hew_ctl_read_unsigned(call, hew_small_classes);
}

/* The largest class that a thread caches, at most tcache_max; HEW_CODE_NONE if that is less than the smallest class. */
static unsigned
largest_cached(void)
{
    unsigned code = hew_code_of_size(hew_options.tcache_max);
    return hew_code_size(code) <= hew_options.tcache_max ? code : code - 1;
}

int
hew_ctl_arenas_nhbins(const struct hew_ctl_call *call)
{
    unsigned code = largest_cached();
    bool has_all_small = code >= HEW_CODE_SMALL_LAST; /* some of these codes may be unused */
    return hew_ctl_read_unsigned(call, has_all_small ? code - HEW_CODE_SMALL_LAST + hew_small_classes : code);
}

int
hew_ctl_arenas_tcache_max(const struct hew_ctl_call *call)
{
    unsigned code = largest_cached();
    return hew_ctl_read_uint64(call, code == HEW_CODE_NONE ? 0 : hew_code_size(code));
}

int
hew_ctl_arenas_lookup(const struct hew_ctl_call *call)
{
    const void *address;
    int error = hew_ctl_must_write(call, &address, sizeof address);
    const struct hew_extent *extent = error != 0 ? NULL : hew_utilization_holder(address);
    return extent == NULL ? EINVAL : hew_ctl_read_unsigned(call, extent->arena);
}

int
hew_ctl_arenas_narenas(const struct hew_ctl_call *call)
{
    return hew_ctl_read_unsigned(call, hew_arenas_count());
}

int
hew_ctl_arenas_decay_ms(const struct hew_ctl_call *call)
{
    return hew_ctl_exchange_decay_ms(call, NULL);
}

/* `hooks` NULL: the default ones. */
static int
create(const struct hew_ctl_call *call, struct hew_extent_hooks *hooks)
{
    if (hooks != NULL) {
        hew_purger_before_hooks();
    }
    int index = hew_arena_create(hooks);
    return index < 0 ? EAGAIN : hew_ctl_read_unsigned(call, (unsigned)index);
}

int
hew_ctl_arenas_create(const struct hew_ctl_call *call)
{
    struct hew_extent_hooks *hooks = NULL;
    int error = hew_ctl_must_read(call, sizeof(unsigned));
    error = error != 0 ? error : hew_ctl_write(call, &hooks, sizeof hooks);
    if (error != 0 || (call->new != NULL && (hooks == NULL || hooks->alloc == NULL))) {
        return EINVAL;
    }
    return create(call, hooks);
}

/* The size and order of the members are part of the program's ABI. */
struct arena_settings {
    struct hew_extent_hooks *hooks;
    bool metadata_use_hooks; /* accepted but ignored: hew's own data never comes from hooks */
};

int
hew_ctl_experimental_arenas_create(const struct hew_ctl_call *call)
{
    struct arena_settings settings = {NULL, true};
    int error = hew_ctl_must_read(call, sizeof(unsigned));
    error = error != 0 ? error : hew_ctl_write(call, &settings, sizeof settings);
    if (error != 0 || (call->new != NULL && (settings.hooks == NULL || settings.hooks->alloc == NULL))) {
        return EINVAL;
    }
    return create(call, settings.hooks);
}

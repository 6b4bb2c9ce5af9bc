/* SPDX-License-Identifier: MIT */
/* ctl_absent: leaves whose ground is not laid yet. */
#include "control/ctl.h"

#include <errno.h>

int
hew_ctl_background_thread(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_max_background_threads(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_thread_arena(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_thread_allocated(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_thread_allocatedp(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_thread_deallocated(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_thread_deallocatedp(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_thread_tcache_enabled(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_thread_tcache_max(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_thread_tcache_flush(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_thread_ncached_max_read(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_thread_ncached_max_write(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_thread_peak_read(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_thread_peak_reset(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_thread_idle(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_tcache_create(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_tcache_flush(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_tcache_destroy(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arena_index(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arena_initialized(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arena_decay(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arena_purge(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arena_reset(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arena_destroy(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arena_dss(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arena_oversize_threshold(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arena_decay_ms(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arena_extent_hooks(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arena_retain_grow_limit(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arena_name(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arenas_narenas(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arenas_decay_ms(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arenas_tcache_max(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arenas_nhbins(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arenas_bin_index(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arenas_bin_size(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arenas_bin_nregs(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arenas_bin_slab_size(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arenas_bin_nshards(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arenas_lextent_index(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arenas_lextent_size(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arenas_create(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_arenas_lookup(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_approximate_stats_active(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_experimental_hooks_install(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_experimental_hooks_remove(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_experimental_hooks_safety_check_abort(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_experimental_hooks_thread_event(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_experimental_query(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_experimental_batch_query(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_experimental_arena_index(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_experimental_pactivep(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_experimental_arenas_create(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_experimental_batch_alloc(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_opt(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_opt_conf(const struct hew_ctl_call *call)
{
    return ENOENT;
}

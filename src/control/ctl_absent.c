/* SPDX-License-Identifier: MIT */
/* ctl_absent: leaves whose ground is not laid yet. */
#include "control/ctl.h"

#include <errno.h>

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
hew_ctl_arenas_create(const struct hew_ctl_call *call)
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

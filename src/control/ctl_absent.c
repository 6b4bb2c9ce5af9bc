/* SPDX-License-Identifier: MIT */
/* ctl_absent: leaves whose ground is not laid yet. */
#include "control/ctl.h"

#include <errno.h>

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

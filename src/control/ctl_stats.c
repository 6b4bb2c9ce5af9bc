/* SPDX-License-Identifier: MIT */
/* ctl_stats: the leaves of stats.* and epoch. */
#include "base/size_class.h"
#include "control/ctl_value.h"

#include <errno.h>
#include <stdatomic.h>

static _Atomic uint64_t epoch = 1; /* relaxed */

int
hew_ctl_epoch(const struct hew_ctl_call *call)
{
    uint64_t ignored;
    int error = hew_ctl_write(call, &ignored, sizeof ignored);
    if (error != 0) {
        return error;
    }
    uint64_t now = atomic_load_explicit(&epoch, memory_order_relaxed);
    if (call->new != NULL && (call->old == NULL || *call->old_length == sizeof now)) {
        now = atomic_fetch_add_explicit(&epoch, 1, memory_order_relaxed) + 1;
    }
    return hew_ctl_read_uint64(call, now);
}

int
hew_ctl_stats_absent(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_stats_arena_index(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_stats_bin_index(const struct hew_ctl_call *call)
{
    return call->mib[call->depth - 1] < HEW_CODE_SMALL_LAST ? 0 : ENOENT;
}

int
hew_ctl_stats_lextent_index(const struct hew_ctl_call *call)
{
    return call->mib[call->depth - 1] < HEW_CLASSES_LARGE ? 0 : ENOENT;
}

int
hew_ctl_stats_extent_index(const struct hew_ctl_call *call)
{
    return call->mib[call->depth - 1] < 199 ? 0 : ENOENT;
}

int
hew_ctl_stats_nonfull_index(const struct hew_ctl_call *call)
{
    return call->mib[call->depth - 1] < 64 ? 0 : ENOENT;
}

/* SPDX-License-Identifier: MIT */
/*
 * ctl_root: the leaves without a subtree, and those that never change.
 */
#include "base/options.h"
#include "control/mallctl/ctl_value.h"
#include "control/purger.h"
#include "control/settings/conf_sources.h"
#include "slab/arena.h"

#include <errno.h>

/* Programs parse jemalloc's form, MAJOR.MINOR.BUGFIX-COMMITS-gID.  This is the compatible jemalloc version, and hew's
 * own. */
#define VERSION "5.3.1-0-ghew0.1.0"

int
hew_ctl_constant(const struct hew_ctl_call *call)
{
    return hew_ctl_read_number(call, call->row->field);
}

int
hew_ctl_version(const struct hew_ctl_call *call)
{
    return hew_ctl_read_pointer(call, VERSION);
}

int
hew_ctl_config_malloc_conf(const struct hew_ctl_call *call)
{
    return hew_ctl_read_pointer(call, HEW_MALLOC_CONF);
}

int
hew_ctl_background_thread(const struct hew_ctl_call *call)
{
    bool before = hew_purger_enabled();
    unsigned char after = before;
    int error = hew_ctl_write(call, &after, sizeof after);
    if (error == 0 && call->new != NULL && hew_ctl_fits(call, sizeof before)) {
        error = hew_purger_enable(after != 0) ? 0 : EAGAIN;
    }
    return error != 0 ? error : hew_ctl_read_bool(call, before);
}

int
hew_ctl_max_background_threads(const struct hew_ctl_call *call)
{
    /* One thread serves all arenas, so the written value is only stored.  Relaxed. */
    static _Atomic size_t forgone;
    size_t before = hew_options.max_background_threads - atomic_load_explicit(&forgone, memory_order_relaxed);
    size_t after = before;
    int error = hew_ctl_write(call, &after, sizeof after);
    if (error == 0 && (after == 0 || after > hew_options.max_background_threads)) {
        error = EINVAL;
    }
    error = error != 0 ? error : hew_ctl_read_uint64(call, before);
    if (error == 0) {
        atomic_store_explicit(&forgone, hew_options.max_background_threads - after, memory_order_relaxed);
    }
    return error;
}

int
hew_ctl_approximate_stats_active(const struct hew_ctl_call *call)
{
    size_t active = 0;
    HEW_EACH_PAGE_OWNER(arena)
    {
        active += hew_page_counts(arena->pages.heap).active;
    }
    return hew_ctl_read_uint64(call, active);
}

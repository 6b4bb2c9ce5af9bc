/* SPDX-License-Identifier: MIT */
/*
 * ctl_experimental: experimental.*, except heap profiles and arenas.
 *
 * Not here  events at every allocation (hooks.install, hooks.remove, hooks.thread_event): malloc's fast path
 *           has no callbacks, so these names are unknown, as in a jemalloc built without them.
 */
#include "alloc/batch.h"
#include "alloc/pressure.h"
#include "alloc/utilization.h"
#include "control/mallctl/ctl_arena.h"
#include "control/mallctl/ctl_value.h"
#include "guard/guard.h"
#include "os/fatal.h"

#include <errno.h>
#include <string.h>

int
hew_ctl_absent(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_experimental_hooks_safety_check_abort(const struct hew_ctl_call *call)
{
    hew_fatal_hook hook;
    int error = hew_ctl_write(call, &hook, sizeof hook);
    if (error == 0 && call->new != NULL) {
        hew_fatal_set_hook(hook);
    }
    return error;
}

int
hew_ctl_experimental_query(const struct hew_ctl_call *call)
{
    const void *address;
    struct hew_utilization_bin answer;
    if (hew_ctl_must_write(call, &address, sizeof address) != 0 || call->old == NULL ||
        *call->old_length != sizeof answer || !hew_utilization_query(address, &answer)) {
        return EINVAL;
    }
    return hew_ctl_read(call, &answer, sizeof answer);
}

static bool
all_ours(void *const *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (hew_utilization_holder(addresses[i]) == NULL) {
            return false;
        }
    }
    return true;
}

/* Any number of addresses, as many answers; an address that is not hew's is an error. */
int
hew_ctl_experimental_batch_query(const struct hew_ctl_call *call)
{
    size_t count = call->new_length / sizeof(void *);
    if (call->new == NULL || call->old == NULL || count == 0 || call->new_length % sizeof(void *) != 0 ||
        *call->old_length / sizeof(struct hew_utilization) != count ||
        *call->old_length % sizeof(struct hew_utilization) != 0 || !all_ours(call->new, count)) {
        return EINVAL;
    }
    hew_utilization_query_batch(call->new, count, call->old);
    return 0;
}

int
hew_ctl_experimental_batch_alloc(const struct hew_ctl_call *call)
{
    struct hew_batch batch;
    int error = hew_ctl_must_read(call, sizeof(size_t));
    error = error != 0 ? error : hew_ctl_must_write(call, &batch, sizeof batch);
    if (error != 0 || (batch.objects == NULL && batch.count != 0)) {
        return EINVAL;
    }
    return hew_ctl_read_uint64(call, hew_batch_alloc(&batch));
}

int
hew_ctl_experimental_limit(const struct hew_ctl_call *call)
{
    struct hew_pressure_counts counts = hew_pressure_counts();
    size_t value;
    memcpy(&value, (const char *)&counts + call->row->field, sizeof value);
    return hew_ctl_read_uint64(call, value);
}

int
hew_ctl_experimental_guard_rate(const struct hew_ctl_call *call)
{
    unsigned before = hew_guard_rate(), after;
    if (hew_options.hardening != HEW_HARDENING_SAMPLE) {
        return ENOENT;
    }
    int error = hew_ctl_exchange(call, &before, &after, sizeof before);
    if (error == 0 && call->new != NULL) {
        hew_guard_set_rate(after);
    }
    return error;
}

int
hew_ctl_experimental_arena_index(const struct hew_ctl_call *call)
{
    size_t index = call->mib[call->depth - 1];
    bool lives = index < HEW_ARENAS_MAX && hew_arena_at((unsigned)index) != NULL;
    return lives || index == HEW_CTL_ARENAS_ALL ? 0 : ENOENT;
}

/* The counter is read-only: the caller must provide space for its address, and must not write. */
int
hew_ctl_experimental_pactivep(const struct hew_ctl_call *call)
{
    size_t index = call->mib[call->depth - 2];
    if (call->old == NULL) {
        return EINVAL;
    }
    if (!hew_ctl_fits(call, sizeof(size_t *))) {
        return hew_ctl_read_pointer(call, NULL);
    }
    if (call->new != NULL || call->new_length != 0) {
        return EPERM;
    }
    struct hew_arena *arena = index < HEW_ARENAS_MAX ? hew_arena_at((unsigned)index) : NULL;
    return arena == NULL ? EFAULT : hew_ctl_read_pointer(call, hew_page_watch_active(arena->pages.heap));
}

/* SPDX-License-Identifier: MIT */
/*
 * ctl_stats: the leaves of stats.* and epoch.  They read the current snapshot; the first read takes one.
 */
#include "control/mallctl/ctl_names_macros.h"
#include "control/mallctl/ctl_value.h"
#include "stats/peak.h"
#include "stats/snapshot.h"

#include <errno.h>

int
hew_ctl_epoch(const struct hew_ctl_call *call)
{
    uint64_t ignored;
    int error = hew_ctl_write(call, &ignored, sizeof ignored);
    if (error != 0) {
        return error;
    }
    if (call->new != NULL && (call->old == NULL || *call->old_length == sizeof ignored) && !hew_stats_take()) {
        return EAGAIN;
    }
    uint64_t now = hew_stats_epoch();
    return now == 0 ? EAGAIN : hew_ctl_read_uint64(call, now);
}

int
hew_ctl_stats_total(const struct hew_ctl_call *call)
{
    if (hew_stats_epoch() == 0) {
        return EAGAIN;
    }
    struct hew_stats_totals totals = hew_stats_totals();
    return hew_ctl_read_number(call, *(const uint64_t *)((const char *)&totals + call->row->field));
}

int
hew_ctl_stats_depot(const struct hew_ctl_call *call)
{
    if (hew_stats_epoch() == 0) {
        return EAGAIN;
    }
    struct hew_stats_depot depot = hew_stats_depot();
    return hew_ctl_read_number(call, *(const uint64_t *)((const char *)&depot + call->row->field));
}

int
hew_ctl_stats_peak(const struct hew_ctl_call *call)
{
    struct hew_stats_peak peak = hew_stats_peak();
    return hew_ctl_read_number(call, *(const uint64_t *)((const char *)&peak + call->row->field));
}

int
hew_ctl_stats_guard(const struct hew_ctl_call *call)
{
    struct hew_stats_guard guard = hew_stats_guard();
    return hew_ctl_read_number(call, *(const uint64_t *)((const char *)&guard + call->row->field));
}

int
hew_ctl_stats_background(const struct hew_ctl_call *call)
{
    struct hew_stats_background_numbers numbers = hew_stats_background_numbers();
    uint64_t number = call->row->field == HEW_CTL_STATS_THREADS ? numbers.num_threads
                      : call->row->field == HEW_CTL_STATS_RUNS  ? numbers.num_runs
                                                                : numbers.run_interval;
    return hew_ctl_read_number(call, number);
}

int
hew_ctl_stats_mutex(const struct hew_ctl_call *call)
{
    if (hew_stats_epoch() == 0) {
        return EAGAIN;
    }
    struct hew_stats_mutex mutex = hew_stats_global_mutex(call->row->field / sizeof mutex);
    return hew_ctl_read_number(call, *(const uint64_t *)((const char *)&mutex + call->row->field % sizeof mutex));
}

int
hew_ctl_stats_mutexes_reset(const struct hew_ctl_call *call)
{
    hew_stats_reset_mutexes();
    return 0;
}

int
hew_ctl_stats_arena_index(const struct hew_ctl_call *call)
{
    size_t index = call->mib[call->depth - 1];
    return hew_stats_epoch() != 0 && index <= HEW_STATS_DESTROYED && hew_stats_has_arena((unsigned)index) ? 0 : ENOENT;
}

/* Reads the number at `offset` bytes in the arena of the name: stats.arenas.<i>. */
static int
read_arena(const struct hew_ctl_call *call, size_t offset)
{
    uint64_t number;
    return hew_stats_arena_number((unsigned)call->mib[2], offset, &number) ? hew_ctl_read_number(call, number) : ENOENT;
}

int
hew_ctl_stats_arena(const struct hew_ctl_call *call)
{
    return read_arena(call, call->row->field);
}

/* Reads a number of the class of the name: stats.arenas.<i>.bins.<j>.  Classes beyond those in the snapshot are larger
 * than the address space. */
static int
read_class(const struct hew_ctl_call *call, size_t array, size_t size, unsigned known)
{
    size_t index = call->mib[4];
    return index < known ? read_arena(call, array + index * size + call->row->field) : hew_ctl_read_number(call, 0);
}

#define READ_CLASS(call, member, known)                                                                                \
    read_class(call, offsetof(struct hew_stats_arena, member), sizeof((struct hew_stats_arena *)NULL)->member[0], known)

int
hew_ctl_stats_bin(const struct hew_ctl_call *call)
{
    return READ_CLASS(call, bins, HEW_STATS_BINS);
}

int
hew_ctl_stats_lextent(const struct hew_ctl_call *call)
{
    return READ_CLASS(call, lextents, HEW_LARGE_CLASSES);
}

int
hew_ctl_stats_extent(const struct hew_ctl_call *call)
{
    return READ_CLASS(call, extents, HEW_STOCK_BUCKETS);
}

int
hew_ctl_stats_bin_index(const struct hew_ctl_call *call)
{
    return call->mib[call->depth - 1] < hew_small_classes ? 0 : ENOENT;
}

int
hew_ctl_stats_lextent_index(const struct hew_ctl_call *call)
{
    return call->mib[call->depth - 1] < HEW_CLASSES_LARGE ? 0 : ENOENT;
}

int
hew_ctl_stats_extent_index(const struct hew_ctl_call *call)
{
    return call->mib[call->depth - 1] < HEW_STATS_BUCKETS ? 0 : ENOENT;
}

int
hew_ctl_stats_nonfull_index(const struct hew_ctl_call *call)
{
    return call->mib[call->depth - 1] < HEW_STATS_HPA_BUCKETS ? 0 : ENOENT;
}

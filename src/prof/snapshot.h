/* SPDX-License-Identifier: MIT */
/*
 * snapshot: a consistent copy of the whole table, for writers that must not hold its lock.
 *
 * Owned by the caller that took it.  It is one separate mapping, so freeing it leaves nothing behind.
 */
#ifndef HEW_PROF_SNAPSHOT_H
#define HEW_PROF_SNAPSHOT_H

#include "prof/table.h"

struct hew_snapshot_thread {
    uint64_t number;
    struct hew_prof_totals live, ever;
    char name[HEW_PROF_NAME_BYTES];
};

struct hew_snapshot_counter {
    uint64_t thread;
    struct hew_prof_totals live, ever;
};

struct hew_snapshot_stack {
    struct hew_prof_totals live, ever;
    const uintptr_t *frames;
    const struct hew_snapshot_counter *counters;
    unsigned depth, counter_count;
};

struct hew_snapshot {
    struct hew_prof_totals live, ever; /* of all stacks */
    struct hew_snapshot_stack *stacks;
    struct hew_snapshot_thread *threads;
    size_t stack_count, thread_count;
    uint64_t interval; /* mean bytes between samples */
    void *memory;
    size_t memory_bytes;
};

/* False without memory.  Takes hew_prof_lock. */
bool hew_snapshot_take(struct hew_snapshot *snapshot, uint64_t interval);
void hew_snapshot_give(struct hew_snapshot *snapshot);

#endif

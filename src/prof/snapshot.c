/* SPDX-License-Identifier: MIT */
#include "prof/snapshot.h"

#include "base/size_class.h"
#include "os/memory.h"

#include <string.h>

struct copying {
    struct hew_snapshot *snapshot;
    uintptr_t *frames;
    struct hew_snapshot_counter *counters;
};

static void
copy_stack(const struct hew_prof_stack *stack, void *context)
{
    struct copying *copying = context;
    struct hew_snapshot *snapshot = copying->snapshot;
    struct hew_snapshot_stack *copy = &snapshot->stacks[snapshot->stack_count++];
    *copy = (struct hew_snapshot_stack){
        .ever = stack->past, .frames = copying->frames, .counters = copying->counters, .depth = stack->depth};
    memcpy(copying->frames, stack->frames, stack->depth * sizeof *stack->frames);
    copying->frames += stack->depth;
    for (const struct hew_list *node = stack->counters.next; node != &stack->counters; node = node->next) {
        const struct hew_prof_counter *counter = HEW_CONTAINER(node, struct hew_prof_counter, of_stack);
        *copying->counters++ = (struct hew_snapshot_counter){counter->thread->number, counter->live, counter->ever};
        copy->counter_count++;
        hew_weight_add(&copy->live, &counter->live);
        hew_weight_add(&copy->ever, &counter->ever);
    }
    hew_weight_add(&snapshot->live, &copy->live);
    hew_weight_add(&snapshot->ever, &copy->ever);
}

static void
copy_thread(const struct hew_prof_thread *thread, void *context)
{
    struct copying *copying = context;
    struct hew_snapshot_thread *copy = &copying->snapshot->threads[copying->snapshot->thread_count++];
    copy->number = thread->number;
    memcpy(copy->name, thread->name, sizeof copy->name);
    for (const struct hew_list *node = thread->counters.next; node != &thread->counters; node = node->next) {
        const struct hew_prof_counter *counter = HEW_CONTAINER(node, struct hew_prof_counter, of_thread);
        hew_weight_add(&copy->live, &counter->live);
        hew_weight_add(&copy->ever, &counter->ever);
    }
}

static size_t
bytes_for(struct hew_prof_table_sizes sizes)
{
    return sizes.stacks * sizeof(struct hew_snapshot_stack) + sizes.threads * sizeof(struct hew_snapshot_thread) +
           sizes.counters * sizeof(struct hew_snapshot_counter) + sizes.frames * sizeof(uintptr_t);
}

/* hew_prof_lock held; the memory is large enough. */
static void
copy(struct hew_snapshot *snapshot, struct hew_prof_table_sizes sizes)
{
    struct copying copying = {.snapshot = snapshot};
    snapshot->threads = snapshot->memory;
    snapshot->stacks = (struct hew_snapshot_stack *)(snapshot->threads + sizes.threads);
    copying.counters = (struct hew_snapshot_counter *)(snapshot->stacks + sizes.stacks);
    copying.frames = (uintptr_t *)(copying.counters + sizes.counters);
    hew_prof_table_each_thread(copy_thread, &copying);
    hew_prof_table_each_stack(copy_stack, &copying);
}

bool
hew_snapshot_take(struct hew_snapshot *snapshot, uint64_t interval)
{
    memset(snapshot, 0, sizeof *snapshot);
    snapshot->interval = interval;
    for (;;) { /* repeat if the table has outgrown the memory meanwhile */
        hew_mutex_lock(&hew_prof_lock);
        struct hew_prof_table_sizes sizes = hew_prof_table_sizes();
        bool fits = snapshot->memory != NULL && bytes_for(sizes) <= snapshot->memory_bytes;
        if (fits) {
            copy(snapshot, sizes);
        }
        hew_mutex_unlock(&hew_prof_lock);
        if (fits) {
            return true;
        }
        hew_snapshot_give(snapshot);
        snapshot->memory_bytes = hew_system_pages(bytes_for(sizes) + bytes_for(sizes) / 8 + 1);
        snapshot->memory = hew_os_map(snapshot->memory_bytes, HEW_PAGE);
        if (snapshot->memory == NULL) {
            return false;
        }
    }
}

void
hew_snapshot_give(struct hew_snapshot *snapshot)
{
    if (snapshot->memory != NULL) {
        hew_os_unmap(snapshot->memory, snapshot->memory_bytes);
        snapshot->memory = NULL;
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * samples: copies the table under its lock.  Slabs are queried afterwards, because a bin's lock ranks outside that
 * lock.  If an object is freed in between, its place belongs to another object by then: one wrong row among many.
 */
#include "prof/samples.h"

#include "base/size_class.h"
#include "os/memory.h"
#include "prof/profiler.h"

#include <string.h>

struct copying {
    struct hew_samples *samples;
    uintptr_t *frames;
};

static void
count_stack(const struct hew_prof_stack *stack, void *context)
{
    size_t *rows = context;
    for (const struct hew_list *node = stack->counters.next; node != &stack->counters; node = node->next) {
        *rows += HEW_CONTAINER(node, struct hew_prof_counter, of_stack)->live.objects;
    }
}

static void
copy_record(struct hew_sample *row, const struct hew_prof_record *record)
{
    row->weight = record->weight.weight_objects;
    row->time_ns = record->time_ns;
    row->requested = record->requested;
    row->usable = record->usable;
    /* acquire: pairs with the release in hew_prof_keep_place() */
    row->place = atomic_load_explicit(&record->place, memory_order_acquire);
    row->slab = (struct hew_utilization){0};
}

static void
copy_stack(const struct hew_prof_stack *stack, void *context)
{
    struct copying *copying = context;
    struct hew_samples *samples = copying->samples;
    for (const struct hew_list *node = stack->counters.next; node != &stack->counters; node = node->next) {
        const struct hew_prof_counter *counter = HEW_CONTAINER(node, struct hew_prof_counter, of_stack);
        for (const struct hew_list *one = counter->records.next; one != &counter->records; one = one->next) {
            struct hew_sample *row = &samples->rows[samples->count++];
            copy_record(row, HEW_CONTAINER(one, struct hew_prof_record, of_counter));
            row->frames = copying->frames;
            row->depth = stack->depth;
            row->thread = counter->thread->number;
            memcpy(row->name, counter->thread->name, sizeof row->name);
        }
    }
    memcpy(copying->frames, stack->frames, stack->depth * sizeof *stack->frames);
    copying->frames += stack->depth;
}

/* hew_prof_lock held.  False: the memory is too small, and `*bytes` is the required size. */
static bool
copy(struct hew_samples *samples, size_t *bytes)
{
    size_t rows = 0;
    hew_prof_table_each_stack(count_stack, &rows);
    *bytes = rows * sizeof(struct hew_sample) + hew_prof_table_sizes().frames * sizeof(uintptr_t);
    if (samples->memory == NULL || *bytes > samples->memory_bytes) {
        return false;
    }
    samples->rows = samples->memory;
    struct copying copying = {.samples = samples, .frames = (uintptr_t *)(samples->rows + rows)};
    hew_prof_table_each_stack(copy_stack, &copying);
    return true;
}

static void
look_at_slabs(struct hew_samples *samples)
{
    for (size_t i = 0; i < samples->count; i++) {
        struct hew_sample *row = &samples->rows[i];
        void *place = (void *)row->place;
        if (place != NULL) {
            hew_utilization_query_batch(&place, 1, &row->slab);
        }
    }
}

bool
hew_samples_take(struct hew_samples *samples)
{
    memset(samples, 0, sizeof *samples);
    for (;;) { /* repeat if the table has outgrown the memory meanwhile */
        size_t bytes = 0;
        hew_mutex_lock(&hew_prof_lock);
        bool fits = copy(samples, &bytes);
        hew_mutex_unlock(&hew_prof_lock);
        if (fits) {
            look_at_slabs(samples);
            return true;
        }
        hew_samples_give(samples);
        samples->memory_bytes = hew_system_pages(bytes + bytes / 8 + 1);
        samples->memory = hew_os_map(samples->memory_bytes, HEW_PAGE);
        if (samples->memory == NULL) {
            return false;
        }
    }
}

void
hew_samples_give(struct hew_samples *samples)
{
    if (samples->memory != NULL) {
        hew_os_unmap(samples->memory, samples->memory_bytes);
        samples->memory = NULL;
    }
}

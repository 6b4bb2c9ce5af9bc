/* SPDX-License-Identifier: MIT */
#include "prof/heap_v2.h"

#include "base/options.h"
#include "prof/mappings.h"

/* "<live objects>: <live bytes> [<objects ever>: <bytes ever>]"; the totals ever allocated are written with prof_accum
 * only. */
static void
put_counts(struct hew_sink *sink, const struct hew_prof_totals *live, const struct hew_prof_totals *ever,
           uint64_t interval)
{
    struct hew_prof_shown now = hew_weight_for_heap_v2(live, interval, hew_options.prof_unbias);
    struct hew_prof_shown all = {0, 0};
    if (hew_options.prof_accum) {
        all = hew_weight_for_heap_v2(ever, interval, hew_options.prof_unbias);
    }
    hew_sink_put_unsigned(sink, now.objects);
    hew_sink_put_text(sink, ": ");
    hew_sink_put_unsigned(sink, now.bytes);
    hew_sink_put_text(sink, " [");
    hew_sink_put_unsigned(sink, all.objects);
    hew_sink_put_text(sink, ": ");
    hew_sink_put_unsigned(sink, all.bytes);
    hew_sink_put_text(sink, "]");
}

static void
put_all(struct hew_sink *sink, const struct hew_prof_totals *live, const struct hew_prof_totals *ever,
        uint64_t interval)
{
    hew_sink_put_text(sink, "  t*: ");
    put_counts(sink, live, ever, interval);
    hew_sink_put_text(sink, "\n");
}

static void
put_thread(struct hew_sink *sink, uint64_t number, const struct hew_prof_totals *live,
           const struct hew_prof_totals *ever, uint64_t interval)
{
    hew_sink_put_text(sink, "  t");
    hew_sink_put_unsigned(sink, number);
    hew_sink_put_text(sink, ": ");
    put_counts(sink, live, ever, interval);
}

/* Writes return addresses.  Readers search for the call before each of them except the first, which they take for an
 * exact address. */
static void
put_stack(struct hew_sink *sink, const struct hew_snapshot_stack *stack, uint64_t interval)
{
    hew_sink_put_text(sink, "@");
    for (unsigned i = 0; i < stack->depth; i++) {
        hew_sink_put_text(sink, " 0x");
        hew_sink_put_hex(sink, stack->frames[i] - (i == 0));
    }
    hew_sink_put_text(sink, "\n");
    put_all(sink, &stack->live, &stack->ever, interval);
    for (unsigned i = 0; i < stack->counter_count; i++) {
        const struct hew_snapshot_counter *counter = &stack->counters[i];
        put_thread(sink, counter->thread, &counter->live, &counter->ever, interval);
        hew_sink_put_text(sink, "\n");
    }
}

struct map {
    struct hew_sink *sink;
    bool is_whole; /* the file has the current mappings already */
};

/* Writes a line in the form of /proc/PID/maps. */
static void
put_mapping(const struct hew_mapping *mapping, void *context)
{
    struct map *map = context;
    if (map->is_whole && !mapping->closed) {
        return;
    }
    hew_sink_put_hex(map->sink, mapping->begin);
    hew_sink_put_text(map->sink, "-");
    hew_sink_put_hex(map->sink, mapping->end);
    hew_sink_put_text(map->sink, " r-xp ");
    hew_sink_put_hex(map->sink, mapping->offset);
    hew_sink_put_text(map->sink, " 00:00 0 ");
    hew_sink_put_text(map->sink, mapping->path);
    hew_sink_put_text(map->sink, "\n");
}

void
hew_heap_v2_write(struct hew_sink *sink, const struct hew_snapshot *snapshot)
{
    hew_sink_put_text(sink, "heap_v2/");
    hew_sink_put_unsigned(sink, snapshot->interval);
    hew_sink_put_text(sink, "\n");
    put_all(sink, &snapshot->live, &snapshot->ever, snapshot->interval);
    for (size_t i = 0; i < snapshot->thread_count; i++) {
        const struct hew_snapshot_thread *thread = &snapshot->threads[i];
        if (thread->ever.objects == 0) {
            continue; /* it was sampled, and has no counts left */
        }
        put_thread(sink, thread->number, &thread->live, &thread->ever, snapshot->interval);
        if (thread->name[0] != '\0') {
            hew_sink_put_text(sink, " ");
            hew_sink_put_text(sink, thread->name);
        }
        hew_sink_put_text(sink, "\n");
    }
    for (size_t i = 0; i < snapshot->stack_count; i++) {
        put_stack(sink, &snapshot->stacks[i], snapshot->interval);
    }
    hew_sink_put_text(sink, "\nMAPPED_LIBRARIES:\n");
    struct map map = {sink, hew_sink_put_file(sink, "/proc/self/maps")};
    hew_mappings_each(put_mapping, &map);
}

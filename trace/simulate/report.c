/* SPDX-License-Identifier: MIT */
/* report: see report.h. */
#include "simulate/report.h"

#include <inttypes.h>
#include <stdio.h>

static void
print_trace(const struct hew_trace *trace, const struct hew_trace_merge *merge)
{
    printf("\"trace\": {\"operations\": %" PRIu64 ", \"threads\": %" PRIu32 ", \"thread_sampling\": %" PRIu32
           ", \"unknown\": %" PRIu64 ", \"damaged\": %" PRIu32 ", \"missing\": %" PRIu32 ", \"cut_off\": %" PRIu64
           ", \"ended\": %s}",
           merge->operations, trace->thread_count, trace->header.thread_sampling, merge->unknown, trace->damaged,
           trace->missing, trace->cut_off, (trace->header.flags & HEW_TRACE_ENDED) != 0 ? "true" : "false");
}

enum column { HEAP, RESIDENT, GROSS };

static uint64_t
value_of(const struct course_sample *sample, enum column column)
{
    return column == HEAP ? sample->heap : column == RESIDENT ? sample->resident : sample->gross;
}

static void
print_column(const char *name, const struct course *course, const struct course_runner *runner, enum column column)
{
    printf(", \"%s\": [", name);
    for (size_t at = 0; at < course->samples; at++) {
        printf("%s%" PRIu64, at != 0 ? ", " : "", value_of(&runner->samples[at], column));
    }
    printf("]");
}

static void
print_runner(const struct course *course, const struct course_runner *runner)
{
    double operations = course->now.operation != 0 ? (double)course->now.operation : 1;

    printf("{\"name\": \"%s\", \"about\": \"%s\", \"failed\": %s, \"work\": %" PRIu64 ", \"peak_heap\": %" PRIu64
           ", \"live_at_peak\": %" PRIu64 ", \"gross_at_peak\": %" PRIu64 ", \"peak_resident\": %" PRIu64
           ", \"mean_gross\": %.0f, \"mean_heap\": %.0f, \"mean_resident\": %.0f",
           runner->policy->methods->name, runner->policy->methods->about, runner->failed ? "true" : "false",
           runner->policy->work, runner->peak_heap, runner->live_at_peak, runner->gross_at_peak, runner->peak_resident,
           runner->gross_sum / operations, runner->heap_sum / operations, runner->resident_sum / operations);
    print_column("heap", course, runner, HEAP);
    print_column("resident", course, runner, RESIDENT);
    print_column("gross", course, runner, GROSS);
    printf("}");
}

void
report_course(const struct course *course, const struct hew_trace *trace, const struct hew_trace_merge *merge)
{
    printf("{");
    print_trace(trace, merge);
    printf(", \"peak_live\": %" PRIu64 ", \"mean_live\": %.0f, \"largest\": %" PRIu64 ", \"allocated\": %" PRIu64
           ", \"reallocations\": %" PRIu64 ", \"left_out\": %" PRIu64 ", \"moments\": [",
           course->peak_live, course->now.operation != 0 ? course->live_sum / (double)course->now.operation : 0.0,
           course->largest, course->allocated, course->reallocations, course->left_out);
    for (size_t at = 0; at < course->samples; at++) {
        const struct course_moment *moment = &course->moments[at];
        printf("%s[%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", at != 0 ? ", " : "", moment->operation,
               moment->microseconds, moment->live, moment->objects);
    }
    printf("], \"policies\": [");
    for (size_t at = 0; at < course->count; at++) {
        printf("%s", at != 0 ? ", " : "");
        print_runner(course, &course->runners[at]);
    }
    printf("]}\n");
}

static void
print_table(const char *before, struct policy_classes *classes)
{
    printf("%s\"%s\": [", before, classes->name);
    for (size_t at = 0; at < classes->count; at++) {
        printf("%s[%" PRIu64 ", %" PRIu64 "]", at != 0 ? ", " : "", classes->sizes[at], classes->slabs[at]);
    }
    printf("]");
}

/* Prints each class and its slab, from the known tables and from all candidates. */
static void
print_tables(void)
{
    struct policy_classes *tables[] = {classes_hew(false), classes_hew(true), classes_jemalloc(), classes_candidates()};

    printf("\"tables\": {");
    for (size_t at = 0; at < sizeof(tables) / sizeof(tables[0]); at++) {
        if (tables[at] != NULL) {
            print_table(at != 0 ? ", " : "", tables[at]);
            classes_end(tables[at]);
        }
    }
    printf("}");
}

void
report_tables(void)
{
    printf("{");
    print_tables();
    printf("}\n");
}

void
report_sizes(const struct sizes *sizes, const struct hew_trace *trace, const struct hew_trace_merge *merge)
{
    double operations = sizes->operation != 0 ? (double)sizes->operation : 1;
    const char *comma = "";

    printf("{");
    print_trace(trace, merge);
    printf(", \"sizes\": [");
    for (unsigned align = 0; align < SIZES_ALIGNS; align++) {
        for (size_t step = 0; step < SIZES_STEPS; step++) {
            const struct sizes_row *row = &sizes->rows[align][step];
            if (row->allocations != 0) {
                printf("%s[%zu, %u, %" PRIu64 ", %" PRIu64 ", %.3f]", comma, step * 8, 1u << (align + SIZES_LG_ALIGN),
                       row->allocations, row->at_peak, row->area / operations);
                comma = ", ";
            }
        }
    }
    printf("], ");
    print_tables();
    printf("}\n");
}

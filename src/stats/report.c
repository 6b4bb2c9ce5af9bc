/* SPDX-License-Identifier: MIT */
/*
 * report: the order of its parts, and the numbers of the whole process.
 */
#include "stats/report.h"

#include "meta/memory.h"
#include "slab/arena_life.h"
#include "stats/peak.h"

#include <string.h>

static void
read_letters(struct hew_report *report, const char *letters)
{
    static const char leaving_out[] = "gmdablxeh";
    bool *const parts[] = {&report->general, &report->merged,  &report->destroyed, &report->arenas, &report->bins,
                           &report->large,   &report->mutexes, &report->extents,   &report->hpa};
    for (unsigned part = 0; part < sizeof parts / sizeof parts[0]; part++) {
        *parts[part] = strchr(letters, leaving_out[part]) == NULL;
    }
    report->as_json = strchr(letters, 'J') != NULL;
}

static void
totals_json(struct hew_report *report)
{
    struct hew_json *json = &report->json;
    struct hew_stats_totals totals = hew_stats_totals();
    struct hew_stats_background_numbers background = hew_stats_background_numbers();
    hew_json_open(json, "stats", '{');
    hew_report_fields_json(json, hew_stats_total_fields, &totals);
    struct hew_stats_depot depot = hew_stats_depot();
    hew_json_open(json, "depot", '{');
    hew_report_fields_json(json, hew_stats_depot_fields, &depot);
    hew_json_close(json, '}');
    struct hew_stats_peak peak = hew_stats_peak();
    hew_json_open(json, "peak", '{');
    hew_report_fields_json(json, hew_stats_peak_fields, &peak);
    hew_json_close(json, '}');
    if (hew_options.hardening == HEW_HARDENING_SAMPLE) {
        struct hew_stats_guard guard = hew_stats_guard();
        hew_json_open(json, "guard", '{');
        hew_report_fields_json(json, hew_stats_guard_fields, &guard);
        hew_json_close(json, '}');
    }
    hew_json_open(json, "background_thread", '{');
    hew_json_unsigned(json, "num_threads", background.num_threads);
    hew_json_unsigned(json, "num_runs", background.num_runs);
    hew_json_unsigned(json, "run_interval", background.run_interval);
    hew_json_close(json, '}');
    if (report->mutexes) {
        hew_json_open(json, "mutexes", '{');
        for (unsigned mutex = 0; mutex < HEW_STATS_GLOBAL_MUTEXES; mutex++) {
            struct hew_stats_mutex counts = hew_stats_global_mutex(mutex);
            hew_report_mutex_json(json, hew_stats_global_mutex_names[mutex], &counts);
        }
        hew_json_close(json, '}');
    }
    hew_json_close(json, '}');
}

static void
put_named(struct hew_report *report, const char *before, uint64_t value)
{
    hew_writer_put(&report->out, before);
    hew_writer_put_unsigned(&report->out, value);
}

static void
depot_text(struct hew_report *report)
{
    struct hew_stats_depot depot = hew_stats_depot();
    put_named(report, "Depots: ", depot.depots);
    put_named(report, ", bytes: ", depot.bytes);
    put_named(report, ", limit: ", depot.limit);
    put_named(report, ", takes: ", depot.takes);
    put_named(report, ", gives: ", depot.gives);
    put_named(report, ", misses: ", depot.misses);
    put_named(report, ", refusals: ", depot.refusals);
    hew_writer_put_byte(&report->out, '\n');
}

/* A line of "Title: name: number, name: number ..." */
static void
fields_text(struct hew_report *report, const char *title, const struct hew_stats_field *fields, const uint64_t *words)
{
    for (const struct hew_stats_field *field = fields; field->name[0] != '\0'; field++) {
        hew_writer_put(&report->out, field == fields ? title : ", ");
        hew_writer_put(&report->out, field->name);
        put_named(report, ": ", *words++);
    }
    hew_writer_put_byte(&report->out, '\n');
}

static void
totals_text(struct hew_report *report)
{
    struct hew_stats_totals totals = hew_stats_totals();
    struct hew_stats_background_numbers background = hew_stats_background_numbers();
    put_named(report, "Allocated: ", totals.allocated);
    put_named(report, ", active: ", totals.active);
    put_named(report, ", metadata: ", totals.metadata);
    put_named(report, " (n_thp ", totals.metadata_thp);
    put_named(report, ", edata ", totals.metadata_edata);
    put_named(report, ", rtree ", totals.metadata_rtree);
    put_named(report, "), resident: ", totals.resident);
    put_named(report, ", mapped: ", totals.mapped);
    put_named(report, ", retained: ", totals.retained);
    put_named(report, "\nCount of realloc(non-null-ptr, 0) calls: ", totals.zero_reallocs);
    put_named(report, "\nBackground threads: ", background.num_threads);
    put_named(report, ", num_runs: ", background.num_runs);
    put_named(report, ", run_interval: ", background.run_interval);
    hew_writer_put(&report->out, " ns\n");
    depot_text(report);
    struct hew_stats_peak peak = hew_stats_peak();
    fields_text(report, "Peak: ", hew_stats_peak_fields, &peak.resident);
    if (hew_options.hardening == HEW_HARDENING_SAMPLE) {
        struct hew_stats_guard guard = hew_stats_guard();
        fields_text(report, "Guarded objects: ", hew_stats_guard_fields, &guard.guarded);
    }
    if (report->mutexes) {
        struct hew_stats_mutex counts[HEW_STATS_GLOBAL_MUTEXES];
        for (unsigned mutex = 0; mutex < HEW_STATS_GLOBAL_MUTEXES; mutex++) {
            counts[mutex] = hew_stats_global_mutex(mutex);
        }
        struct hew_stats_arena *all = report->arena;
        uint64_t uptime = hew_stats_copy_arena(HEW_STATS_ALL, all) ? all->uptime : 0;
        hew_report_mutexes_text(&report->out, hew_stats_global_mutex_names, counts, uptime / 1000000000);
    }
}

/* Writes one arena, or a sum; nothing if it does not exist. */
static void
arena(struct hew_report *report, unsigned index, const char *key, const char *title)
{
    if (!hew_stats_copy_arena(index, report->arena)) {
        return;
    }
    if (report->as_json) {
        hew_report_arena_json(report, key);
    } else {
        hew_writer_put(&report->out, title);
        hew_writer_put(&report->out, ":\n");
        hew_report_arena_text(report);
    }
}

static void
single_arena(struct hew_report *report, unsigned index)
{
    char title[24];
    struct hew_text text;
    hew_text_begin(&text, title, sizeof title);
    hew_text_put(&text, "arenas[");
    hew_text_put_unsigned(&text, index);
    const char *key = title + strlen("arenas[");
    if (report->as_json) {
        arena(report, index, key, NULL);
    } else {
        hew_text_put(&text, "]");
        arena(report, index, NULL, title);
    }
}

static void
arenas(struct hew_report *report)
{
    /* For people, the sum of a single arena would only repeat its table; programs read the sum. */
    bool single = hew_arena_next(0) != NULL && hew_arena_next(hew_arena_next(0)->index + 1u) == NULL;
    if (report->merged && (report->as_json || !single || !report->arenas)) {
        arena(report, HEW_STATS_ALL, "merged", "Merged arenas stats");
    }
    if (report->destroyed) {
        arena(report, HEW_STATS_DESTROYED, "destroyed", "Destroyed arenas stats");
    }
    for (unsigned index = 0; report->arenas && index < hew_arenas_count(); index++) {
        single_arena(report, index);
    }
}

static void
all_json(struct hew_report *report, const struct hew_report_order *order)
{
    hew_json_open(&report->json, NULL, '{');
    hew_json_open(&report->json, "jemalloc", '{');
    if (report->general && order->print_general != NULL) {
        order->print_general(report);
    }
    totals_json(report);
    if (report->merged || report->destroyed || report->arenas) {
        hew_json_open(&report->json, "stats.arenas", '{');
        arenas(report);
        hew_json_close(&report->json, '}');
    }
    hew_json_close(&report->json, '}');
    hew_json_close(&report->json, '}');
}

static void
all_text(struct hew_report *report, const struct hew_report_order *order)
{
    hew_writer_put(&report->out, "___ Begin jemalloc statistics ___\n");
    if (report->general && order->print_general != NULL) {
        order->print_general(report);
    }
    totals_text(report);
    arenas(report);
    hew_writer_put(&report->out, "--- End jemalloc statistics ---\n");
}

void
hew_report_print(const struct hew_report_order *order)
{
    struct hew_report report = {.json = {.out = &report.out}};
    read_letters(&report, order->letters == NULL ? "" : order->letters);
    report.arena = hew_stats_take() ? hew_meta_take(sizeof *report.arena) : NULL;
    if (report.arena == NULL) {
        order->write(order->context, "hew: no memory for statistics\n");
        return;
    }
    hew_writer_begin(&report.out, order->write, order->context);
    if (report.as_json) {
        all_json(&report, order);
    } else {
        all_text(&report, order);
    }
    hew_writer_end(&report.out);
    hew_meta_give(report.arena, sizeof *report.arena);
}

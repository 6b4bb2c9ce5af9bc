/* SPDX-License-Identifier: MIT */
/*
 * report_json: one arena as JSON.
 */
#include "stats/report.h"

#include "base/options.h"
#include "prof/profiler.h"

#include <string.h>

static void
put_field(struct hew_json *json, const char *name, unsigned type, uint64_t value)
{
    const char *key = strcmp(name, "uptime") == 0 ? "uptime_ns" : name;
    if (type == HEW_STATS_SSIZE) {
        hew_json_signed(json, key, (int64_t)value);
    } else {
        hew_json_unsigned(json, key, value);
    }
}

void
hew_report_fields_json(struct hew_json *json, const struct hew_stats_field *fields, const void *words)
{
    const uint64_t *word = words;
    for (; fields->name[0] != '\0'; fields++, word++) {
        if (fields->part == HEW_STATS_JSON) {
            put_field(json, fields->name, fields->type, *word);
        }
    }
}

void
hew_report_mutex_json(struct hew_json *json, const char *key, const struct hew_stats_mutex *mutex)
{
    hew_json_open(json, key, '{');
    hew_report_fields_json(json, hew_stats_mutex_fields, mutex);
    hew_json_close(json, '}');
}

/* Writes the arena's own numbers that belong to `part`, without `prefix` in their keys. */
static void
arena_part(struct hew_report *report, unsigned part, const char *prefix)
{
    const uint64_t *word = (const uint64_t *)report->arena;
    for (const struct hew_stats_field *field = hew_stats_arena_fields; field->name[0] != '\0'; field++, word++) {
        if (field->part == part) {
            put_field(&report->json, field->name + strlen(prefix), field->type, *word);
        }
    }
}

static void
group(struct hew_json *json, const char *key, const struct hew_stats_group *numbers)
{
    hew_json_open(json, key, '{');
    hew_report_fields_json(json, hew_stats_group_fields, numbers);
    hew_json_close(json, '}');
}

static void
mutexes(struct hew_report *report)
{
    hew_json_open(&report->json, "mutexes", '{');
    for (unsigned mutex = 0; mutex < HEW_STATS_ARENA_MUTEXES; mutex++) {
        hew_report_mutex_json(&report->json, hew_stats_arena_mutex_names[mutex], &report->arena->mutexes[mutex]);
    }
    hew_json_close(&report->json, '}');
}

/* With prof_stats: writes the samples of a class, over all arenas. */
static void
samples(struct hew_json *json, unsigned class_index)
{
    if (hew_options.prof && hew_options.prof_stats) {
        struct hew_prof_class counts = hew_prof_class_counts(class_index);
        hew_json_unsigned(json, "prof_live_requested", counts.live_bytes);
        hew_json_unsigned(json, "prof_live_count", counts.live_count);
        hew_json_unsigned(json, "prof_accum_requested", counts.ever_bytes);
        hew_json_unsigned(json, "prof_accum_count", counts.ever_count);
    }
}

static void
bins(struct hew_report *report)
{
    hew_json_open(&report->json, "bins", '[');
    for (unsigned bin = 0; bin < hew_small_classes; bin++) {
        hew_json_open(&report->json, NULL, '{');
        hew_report_fields_json(&report->json, hew_stats_bin_fields, &report->arena->bins[bin]);
        samples(&report->json, bin);
        if (report->mutexes) {
            hew_report_mutex_json(&report->json, "mutex", &report->arena->bins[bin].mutex);
        }
        hew_json_close(&report->json, '}');
    }
    hew_json_close(&report->json, ']');
}

static const uint64_t zeros[16]; /* for classes beyond the address space, and for what hew does not have */

static void
lextents(struct hew_report *report)
{
    struct hew_json *json = &report->json;
    hew_json_open(json, "lextents", '[');
    for (unsigned index = 0; index < HEW_CLASSES_LARGE; index++) {
        bool known = index < HEW_LARGE_CLASSES;
        hew_json_open(json, NULL, '{');
        hew_report_fields_json(json, hew_stats_lextent_fields,
                               known ? (const void *)&report->arena->lextents[index] : zeros);
        samples(json, HEW_CODE_SMALL_LAST + index);
        hew_json_close(json, '}');
    }
    hew_json_close(json, ']');
}

static void
extents(struct hew_report *report)
{
    struct hew_json *json = &report->json;
    hew_json_open(json, "extents", '[');
    for (unsigned bucket = 0; bucket < HEW_STATS_BUCKETS; bucket++) {
        bool known = bucket < HEW_STOCK_BUCKETS;
        hew_json_open(json, NULL, '{');
        hew_report_fields_json(json, hew_stats_extents_fields,
                               known ? (const void *)&report->arena->extents[bucket] : zeros);
        hew_json_close(json, '}');
    }
    hew_json_close(json, ']');
}

static void
hpa_slabs(struct hew_json *json, const char *key)
{
    hew_json_open(json, key, '{');
    hew_report_fields_json(json, hew_stats_hpa_slabs_fields, zeros);
    hew_json_unsigned(json, "nretained_nonhuge", 0); /* mallctl does not have this name */
    hew_json_close(json, '}');
}

static void
hpa_shard(struct hew_report *report)
{
    struct hew_json *json = &report->json;
    hew_json_open(json, "hpa_shard", '{');
    arena_part(report, HEW_STATS_HPA, "hpa_");
    hew_report_fields_json(json, hew_stats_hpa_fields, zeros);
    hpa_slabs(json, "slabs");
    hpa_slabs(json, "full_slabs");
    hpa_slabs(json, "empty_slabs");
    hew_json_open(json, "nonfull_slabs", '[');
    for (unsigned bucket = 0; bucket < HEW_STATS_HPA_BUCKETS; bucket++) {
        hpa_slabs(json, NULL);
    }
    hew_json_close(json, ']');
    hew_json_close(json, '}');
}

void
hew_report_arena_json(struct hew_report *report, const char *key)
{
    struct hew_json *json = &report->json;
    const struct hew_stats_arena *arena = report->arena;
    hew_json_open(json, key, '{');
    if (arena->present) {
        hew_json_text(json, "name", arena->name);
    }
    hew_json_text(json, "dss", arena->dss);
    arena_part(report, HEW_STATS_HEAD, "");
    group(json, "small", &arena->small);
    group(json, "large", &arena->large);
    arena_part(report, HEW_STATS_TAIL, "");
    if (report->mutexes) {
        mutexes(report);
    }
    if (report->bins) {
        bins(report);
    }
    if (report->large) {
        lextents(report);
    }
    if (report->extents) {
        extents(report);
    }
    if (report->hpa) {
        hpa_shard(report);
    }
    hew_json_close(json, '}');
}

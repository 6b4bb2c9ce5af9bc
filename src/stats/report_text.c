/* SPDX-License-Identifier: MIT */
/*
 * report_text: one arena as tables for people.
 */
#include "stats/report.h"
#include "stats/table.h"

#include <string.h>

#define LOCK_WIDTH 20   /* of a lock's name */
#define NUMBER_WIDTH 16 /* of a number on a line of its own */
#define CELL 13

static void
put_label(struct hew_writer *out, const char *label, size_t width)
{
    hew_writer_put(out, label);
    for (size_t at = strlen(label); at < width; at++) {
        hew_writer_put_byte(out, ' ');
    }
}

void
hew_report_mutexes_text(struct hew_writer *out, const char *const *names, const struct hew_stats_mutex *mutexes,
                        uint64_t seconds)
{
    put_label(out, "", LOCK_WIDTH);
    hew_table_head(out, hew_stats_mutex_fields);
    hew_writer_put_byte(out, '\n');
    for (unsigned mutex = 0; names[mutex] != NULL; mutex++) {
        put_label(out, names[mutex], LOCK_WIDTH);
        hew_table_cells(out, hew_stats_mutex_fields, &mutexes[mutex], seconds);
        hew_writer_put_byte(out, '\n');
    }
}

static void
decay_row(struct hew_writer *out, const char *label, uint64_t decay_ms, const uint64_t numbers[4])
{
    hew_writer_put(out, label);
    if (decay_ms == UINT64_MAX) {
        hew_writer_put_right(out, "N/A", CELL);
    } else {
        hew_writer_put_number(out, decay_ms, CELL);
    }
    for (unsigned at = 0; at < 4; at++) {
        hew_writer_put_number(out, numbers[at], CELL);
    }
    hew_writer_put_byte(out, '\n');
}

static void
head(struct hew_writer *out, const struct hew_stats_arena *arena)
{
    if (arena->present) {
        hew_writer_put(out, "name: ");
        hew_writer_put(out, arena->name);
        hew_writer_put_byte(out, '\n');
    }
    hew_writer_put(out, "assigned threads: ");
    hew_writer_put_unsigned(out, arena->nthreads);
    hew_writer_put(out, "\nuptime: ");
    hew_writer_put_unsigned(out, arena->uptime);
    hew_writer_put(out, "\ndss allocation precedence: \"");
    hew_writer_put(out, arena->dss);
    hew_writer_put(out, "\"\ndecaying:         time       npages       sweeps     madvises       purged\n");
    decay_row(out, "   dirty:", arena->dirty_decay_ms,
              (const uint64_t[]){arena->pdirty, arena->dirty_npurge, arena->dirty_nmadvise, arena->dirty_purged});
    decay_row(out, "   muzzy:", arena->muzzy_decay_ms,
              (const uint64_t[]){arena->pmuzzy, arena->muzzy_npurge, arena->muzzy_nmadvise, arena->muzzy_purged});
}

static void
groups(struct hew_writer *out, const struct hew_stats_arena *arena, uint64_t seconds)
{
    const char *const labels[] = {"small:", "large:", "total:"};
    const uint64_t *small = (const uint64_t *)&arena->small, *large = (const uint64_t *)&arena->large;
    struct hew_stats_group total;
    for (unsigned word = 0; hew_stats_group_fields[word].name[0] != '\0'; word++) {
        ((uint64_t *)&total)[word] = small[word] + large[word];
    }
    const struct hew_stats_group *rows[] = {&arena->small, &arena->large, &total};
    put_label(out, "", LOCK_WIDTH);
    hew_table_head(out, hew_stats_group_fields);
    hew_writer_put_byte(out, '\n');
    for (unsigned row = 0; row < 3; row++) {
        put_label(out, labels[row], LOCK_WIDTH);
        hew_table_cells(out, hew_stats_group_fields, rows[row], seconds);
        hew_writer_put_byte(out, '\n');
    }
}

static void
named_number(struct hew_writer *out, const char *name, uint64_t value)
{
    hew_writer_put(out, name);
    hew_writer_put_byte(out, ':');
    for (size_t at = strlen(name) + 1; at < LOCK_WIDTH; at++) {
        hew_writer_put_byte(out, ' ');
    }
    hew_writer_put_number(out, value, NUMBER_WIDTH);
    hew_writer_put_byte(out, '\n');
}

static void
tail(struct hew_writer *out, const struct hew_stats_arena *arena)
{
    const uint64_t *word = (const uint64_t *)arena;
    named_number(out, "active", arena->pactive * HEW_PAGE);
    for (const struct hew_stats_field *field = hew_stats_arena_fields; field->name[0] != '\0'; field++, word++) {
        if (field->part == HEW_STATS_TAIL) {
            named_number(out, field->name, *word);
        }
    }
}

static void
table_head(struct hew_writer *out, const char *title, bool allocated)
{
    put_label(out, title, 8);
    hew_writer_put_right(out, "size", CELL);
    hew_writer_put_right(out, "ind", 4);
    if (allocated) {
        hew_writer_put_right(out, "allocated", CELL);
    }
}

static void
row_head(struct hew_writer *out, size_t size, unsigned index)
{
    put_label(out, "", 8);
    hew_writer_put_number(out, size, CELL);
    hew_writer_put_number(out, index, 4);
}

/* Rows with only zeros are left out; "---" replaces each run of them. */
static bool
skip(struct hew_writer *out, bool empty, bool *in_run)
{
    if (empty && !*in_run) {
        hew_writer_put(out, "                     ---\n");
    }
    *in_run = empty;
    return empty;
}

static void
utilization(struct hew_writer *out, uint64_t regions, uint64_t room)
{
    char digits[16];
    struct hew_text text;
    hew_text_begin(&text, digits, sizeof digits);
    hew_text_put_thousandths(&text, room == 0 ? 1000 : regions * 1000 / room);
    hew_writer_put_right(out, digits, 7);
}

static void
bins(struct hew_report *report, uint64_t seconds)
{
    struct hew_writer *out = &report->out;
    bool in_run = false;
    table_head(out, "bins:", true);
    hew_table_head(out, hew_stats_bin_fields);
    hew_writer_put(out, " nshards regs pgs   util");
    if (report->mutexes) {
        hew_table_head(out, hew_stats_mutex_fields);
    }
    hew_writer_put_byte(out, '\n');
    for (unsigned index = 0; index < hew_small_classes; index++) {
        const struct hew_stats_bin *bin = &report->arena->bins[index];
        const struct hew_slab_shape *shape = &hew_slab_shapes[index + 1];
        if (skip(out, bin->nslabs == 0, &in_run)) {
            continue;
        }
        row_head(out, shape->size, index);
        hew_writer_put_number(out, bin->curregs * shape->size, CELL);
        hew_table_cells(out, hew_stats_bin_fields, bin, seconds);
        hew_writer_put_number(out, 1, 8);
        hew_writer_put_number(out, shape->regions, 5);
        hew_writer_put_number(out, shape->pages, 4);
        utilization(out, bin->curregs, bin->curslabs * shape->regions);
        if (report->mutexes) {
            hew_table_cells(out, hew_stats_mutex_fields, &bin->mutex, seconds);
        }
        hew_writer_put_byte(out, '\n');
    }
}

static void
lextents(struct hew_report *report, uint64_t seconds)
{
    struct hew_writer *out = &report->out;
    bool in_run = false;
    table_head(out, "large:", true);
    hew_table_head(out, hew_stats_lextent_fields);
    hew_writer_put_byte(out, '\n');
    for (unsigned index = 0; index < HEW_LARGE_CLASSES; index++) {
        const struct hew_stats_lextent *large = &report->arena->lextents[index];
        if (skip(out, large->nmalloc == 0 && large->nrequests == 0, &in_run)) {
            continue;
        }
        size_t size = hew_class_size(HEW_CODE_SMALL_LAST + index);
        row_head(out, size, hew_small_classes + index);
        hew_writer_put_number(out, large->curlextents * size, CELL);
        hew_table_cells(out, hew_stats_lextent_fields, large, seconds);
        hew_writer_put_byte(out, '\n');
    }
}

static void
extents(struct hew_report *report)
{
    struct hew_writer *out = &report->out;
    bool in_run = false;
    table_head(out, "extents:", false);
    hew_table_head(out, hew_stats_extents_fields);
    hew_writer_put(out, "       ntotal           total\n");
    for (unsigned bucket = 0; bucket < HEW_STOCK_BUCKETS; bucket++) {
        const struct hew_stats_extents *unused = &report->arena->extents[bucket];
        uint64_t number = unused->ndirty + unused->nmuzzy + unused->nretained;
        if (skip(out, number == 0, &in_run)) {
            continue;
        }
        row_head(out, hew_stats_bucket_size(bucket), bucket);
        hew_table_cells(out, hew_stats_extents_fields, unused, 0);
        hew_writer_put_number(out, number, CELL);
        hew_writer_put_number(out, unused->dirty_bytes + unused->muzzy_bytes + unused->retained_bytes, 16);
        hew_writer_put_byte(out, '\n');
    }
}

void
hew_report_arena_text(struct hew_report *report)
{
    struct hew_writer *out = &report->out;
    uint64_t seconds = report->arena->uptime / 1000000000;
    head(out, report->arena);
    groups(out, report->arena, seconds);
    tail(out, report->arena);
    if (report->mutexes) {
        hew_report_mutexes_text(out, hew_stats_arena_mutex_names, report->arena->mutexes, seconds);
    }
    if (report->bins) {
        bins(report, seconds);
    }
    if (report->large) {
        lextents(report, seconds);
    }
    if (report->extents) {
        extents(report);
    }
    if (report->hpa) {
        hew_writer_put(out, "HPA shard stats:\n  none: hew has one page allocator\n");
    }
}

/* SPDX-License-Identifier: MIT */
#include "stats/table.h"

#include <string.h>

#define RATE_WIDTH 10

static size_t
width_of(const struct hew_stats_field *field)
{
    size_t least = strlen(field->name) + 1;
    return field->width < least ? least : field->width;
}

static bool
has_rate(const struct hew_stats_field *field)
{
    return field->type == HEW_STATS_U64 && field->merge == HEW_STATS_ADD;
}

void
hew_table_head(struct hew_writer *out, const struct hew_stats_field *fields)
{
    for (; fields->name[0] != '\0'; fields++) {
        hew_writer_put_right(out, fields->name, width_of(fields));
        if (has_rate(fields)) {
            hew_writer_put_right(out, "(#/sec)", RATE_WIDTH);
        }
    }
}

void
hew_table_cells(struct hew_writer *out, const struct hew_stats_field *fields, const void *words, uint64_t seconds)
{
    const uint64_t *word = words;
    for (; fields->name[0] != '\0'; fields++, word++) {
        hew_writer_put_number(out, *word, width_of(fields));
        if (has_rate(fields)) {
            hew_writer_put_number(out, seconds == 0 ? *word : *word / seconds, RATE_WIDTH);
        }
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * table: columns of numbers in the text report, one column for each row of a .def.
 *
 * Counters that only increase get a second column: the rate per second.
 */
#ifndef HEW_STATS_TABLE_H
#define HEW_STATS_TABLE_H

#include "stats/fields.h"
#include "stats/writer.h"

void hew_table_head(struct hew_writer *out, const struct hew_stats_field *fields);

/* `words`: the struct that the fields describe; `seconds`: the time over which it was counted. */
void hew_table_cells(struct hew_writer *out, const struct hew_stats_field *fields, const void *words, uint64_t seconds);

#endif

/* SPDX-License-Identifier: MIT */
#include "stats/table.h"

#include "test.h"

static char heard[HEW_WRITER_BYTES];

static void
hear(void *context, const char *piece)
{
    strcpy(heard, piece);
}

static const struct hew_stats_field fields[] = {
    {"rises", HEW_STATS_U64, HEW_STATS_ADD, 0, 8},
    {"is", HEW_STATS_SIZE, HEW_STATS_ADD, 0, 5},
    {"a_longer_name", HEW_STATS_U64, HEW_STATS_MAX, 0, 3},
    {"", 0, 0, 0, 0},
};

static const char *
cells(uint64_t seconds)
{
    struct hew_writer out;
    hew_writer_begin(&out, hear, NULL);
    hew_table_cells(&out, fields, (const uint64_t[]){100, 7, 3}, seconds);
    hew_writer_end(&out);
    return heard;
}

TEST(the_head_stands_above_its_cells)
{
    struct hew_writer out;
    hew_writer_begin(&out, hear, NULL);
    hew_table_head(&out, fields);
    hew_writer_end(&out);
    CHECK_TEXT(heard, "   rises   (#/sec)   is a_longer_name");
    size_t width = strlen(heard);
    CHECK_EQUAL(strlen(cells(10)), width);
}

TEST(what_rises_is_shown_a_second_too)
{
    CHECK_TEXT(cells(10), "     100        10    7             3");
}

TEST(in_the_first_second_the_rate_is_the_count)
{
    CHECK_TEXT(cells(0), "     100       100    7             3");
}

/* SPDX-License-Identifier: MIT */
#include "stats/fields.h"

#include "test.h"

static unsigned
rows(const struct hew_stats_field *fields)
{
    unsigned count = 0;
    while (fields[count].name[0] != '\0') {
        count++;
    }
    return count;
}

TEST(each_table_describes_each_word_of_its_struct)
{
    CHECK_EQUAL(rows(hew_stats_total_fields) * 8, sizeof(struct hew_stats_totals));
    CHECK_EQUAL(rows(hew_stats_mutex_fields) * 8, sizeof(struct hew_stats_mutex));
    CHECK_EQUAL(rows(hew_stats_group_fields) * 8, sizeof(struct hew_stats_group));
    CHECK_EQUAL(rows(hew_stats_bin_fields) * 8, offsetof(struct hew_stats_bin, mutex));
    CHECK_EQUAL(rows(hew_stats_lextent_fields) * 8, sizeof(struct hew_stats_lextent));
    CHECK_EQUAL(rows(hew_stats_extents_fields) * 8, sizeof(struct hew_stats_extents));
    CHECK_EQUAL(rows(hew_stats_arena_fields) * 8, offsetof(struct hew_stats_arena, small));
}

TEST(a_row_stands_where_its_member_is)
{
    CHECK_TEXT(hew_stats_total_fields[offsetof(struct hew_stats_totals, mapped) / 8].name, "mapped");
    CHECK_TEXT(hew_stats_bin_fields[offsetof(struct hew_stats_bin, curslabs) / 8].name, "curslabs");
    CHECK_TEXT(hew_stats_arena_fields[offsetof(struct hew_stats_arena, tcache_bytes) / 8].name, "tcache_bytes");
    CHECK_EQUAL(hew_stats_arena_fields[offsetof(struct hew_stats_arena, muzzy_decay_ms) / 8].type, HEW_STATS_SSIZE);
    CHECK_TEXT(hew_stats_arena_mutex_names[HEW_STATS_ARENA_extents_dirty], "extents_dirty");
    CHECK_TEXT(hew_stats_global_mutex_names[HEW_STATS_GLOBAL_prof_stats], "prof_stats");
    CHECK(hew_stats_arena_mutex_names[HEW_STATS_ARENA_MUTEXES] == NULL);
    CHECK(hew_stats_global_mutex_names[HEW_STATS_GLOBAL_MUTEXES] == NULL);
}

TEST(buckets_have_the_sizes_of_jemallocs_page_classes)
{
    static const size_t pages[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32};
    for (unsigned bucket = 0; bucket < sizeof pages / sizeof pages[0]; bucket++) {
        CHECK_EQUAL(hew_stats_bucket_size(bucket), pages[bucket] * HEW_PAGE);
    }
    CHECK_EQUAL(hew_stats_bucket_size(HEW_STATS_BUCKETS - 1), (size_t)7 << 60);
}

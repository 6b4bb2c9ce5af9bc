/* SPDX-License-Identifier: MIT */
/*
 * ctl_stats: the names of statistics give the numbers of the snapshot.
 */
#include "control/mallctl/ctl.h"
#include "control/mallctl/ctl_tree.h"
#include "control/mallctl/ctl_value.h"
#include "ctl_calls.h"
#include "layers_alloc.h"
#include "stats/snapshot.h"
#include "test.h"

static struct hew_stats_arena arena;

/* The number that a name gives, whatever its width. */
static uint64_t
number(const char *name)
{
    for (const struct hew_ctl_row *row = hew_ctl_rows; row->name[0] != '\0'; row++) {
        char concrete[2 * HEW_CTL_NAME_MAX];
        ctl_concrete(row, "1", concrete);
        if (strcmp(concrete, name) == 0) {
            uint64_t value = 0;
            CHECK_EQUAL(ctl_read(name, &value, hew_ctl_type_size(row->type)), 0);
            return value;
        }
    }
    printf("no row is called %s\n", name);
    test_failures++;
    return 0;
}

/* Each of `count` words of a struct under its name. */
static void
check_words(const char *prefix, const struct hew_stats_field *fields, const void *words)
{
    for (unsigned word = 0; fields[word].name[0] != '\0'; word++) {
        char name[2 * HEW_CTL_NAME_MAX];
        snprintf(name, sizeof name, "%s.%s", prefix, fields[word].name);
        CHECK_EQUAL(number(name), ((const uint64_t *)words)[word]);
    }
}

TEST(the_first_name_takes_the_first_snapshot)
{
    CHECK(layers_boot());
    hew_options.narenas = 2;
    layers_free(layers_malloc(100));
    CHECK(hew_arena_get(1) != NULL);
    CHECK(number("stats.resident") > 0);
    CHECK_EQUAL(number("epoch"), 1);
}

TEST(a_write_of_epoch_takes_the_next_one)
{
    uint64_t epoch = 77;
    CHECK_EQUAL(ctl_exchange("epoch", &epoch, &epoch, sizeof epoch), 0);
    CHECK_EQUAL(epoch, 2);
    CHECK_EQUAL(ctl_write("epoch", &epoch, sizeof epoch), 0);
    CHECK_EQUAL(number("epoch"), 3);
}

TEST(a_write_of_the_wrong_length_takes_none)
{
    uint64_t epoch = 0;
    size_t length = sizeof epoch;
    CHECK(ctl_write("epoch", &epoch, 4) == EINVAL);
    CHECK(hew_ctl_by_name("epoch", &epoch, &length, &epoch, 4) == EINVAL);
    length = 4;
    CHECK(hew_ctl_by_name("epoch", &epoch, &length, &epoch, 8) == EINVAL);
    CHECK_EQUAL(number("epoch"), 3);
}

TEST(each_name_gives_the_number_of_its_row)
{
    CHECK(hew_large_take(hew_arena_at(1), 50000, HEW_PAGE, hew_code_of_size(20480)) != NULL);
    CHECK(hew_stats_take() && hew_stats_copy_arena(1, &arena));
    struct hew_stats_totals totals = hew_stats_totals();
    check_words("stats", hew_stats_total_fields, &totals);
    check_words("stats.arenas.1", hew_stats_arena_fields, &arena);
    check_words("stats.arenas.1.small", hew_stats_group_fields, &arena.small);
    check_words("stats.arenas.1.large", hew_stats_group_fields, &arena.large);
    check_words("stats.arenas.1.bins.1", hew_stats_bin_fields, &arena.bins[1]);
    check_words("stats.arenas.1.bins.1.mutex", hew_stats_mutex_fields, &arena.bins[1].mutex);
    check_words("stats.arenas.1.lextents.1", hew_stats_lextent_fields, &arena.lextents[1]);
    check_words("stats.arenas.1.extents.1", hew_stats_extents_fields, &arena.extents[1]);
    CHECK_EQUAL(arena.lextents[1].curlextents, 1);
    for (unsigned mutex = 0; mutex < HEW_STATS_ARENA_MUTEXES; mutex++) {
        char name[64];
        snprintf(name, sizeof name, "stats.arenas.1.mutexes.%s", hew_stats_arena_mutex_names[mutex]);
        check_words(name, hew_stats_mutex_fields, &arena.mutexes[mutex]);
    }
    for (unsigned mutex = 0; mutex < HEW_STATS_GLOBAL_MUTEXES; mutex++) {
        char name[64];
        struct hew_stats_mutex counts = hew_stats_global_mutex(mutex);
        snprintf(name, sizeof name, "stats.mutexes.%s", hew_stats_global_mutex_names[mutex]);
        check_words(name, hew_stats_mutex_fields, &counts);
    }
}

TEST(the_word_on_sbrk_is_text)
{
    const char *word = NULL;
    CHECK_EQUAL(ctl_read("stats.arenas.0.dss", &word, sizeof word), 0);
    CHECK_TEXT(word, "secondary");
    CHECK_EQUAL(ctl_read("stats.arenas.4096.dss", &word, sizeof word), 0);
    CHECK_TEXT(word, "N/A");
}

TEST(a_sum_has_no_decay_time)
{
    int64_t decay_ms = 0;
    CHECK_EQUAL(ctl_read("stats.arenas.4096.dirty_decay_ms", &decay_ms, sizeof decay_ms), 0);
    CHECK(decay_ms == -1);
    CHECK_EQUAL(ctl_read("stats.arenas.0.dirty_decay_ms", &decay_ms, sizeof decay_ms), 0);
    CHECK(decay_ms == 10000);
}

TEST(indices_out_of_range_are_unknown)
{
    CHECK(ctl_do("stats.arenas.2.pactive") == 0 || hew_arenas_count() != 2);
    CHECK(ctl_do("stats.arenas.4097.pactive") == ENOENT);
    CHECK(ctl_do("stats.arenas.4098.pactive") == ENOENT);
    CHECK(ctl_do("stats.arenas.4294967296.pactive") == ENOENT);
    CHECK(ctl_do("stats.arenas.0.bins.63.curregs") == ENOENT);
    CHECK(ctl_do("stats.arenas.0.lextents.196.curlextents") == ENOENT);
    CHECK(ctl_do("stats.arenas.0.extents.199.ndirty") == ENOENT);
    CHECK(ctl_do("stats.arenas.0.hpa_shard.nonfull_slabs.64.npageslabs_huge") == ENOENT);
    CHECK(ctl_do("stats.arenas.0.small.resident") == ENOENT);
    CHECK(ctl_do("stats.arenas.0.bins.62.curregs") == 0 && ctl_do("stats.arenas.0.lextents.195.curlextents") == 0);
}

TEST(numbers_can_only_be_read)
{
    size_t value = 0;
    CHECK(ctl_write("stats.allocated", &value, sizeof value) == EPERM);
    CHECK(ctl_read("stats.mutexes.reset", &value, sizeof value) == EPERM);
    CHECK(ctl_read("stats.allocated", &value, 4) == EINVAL);
}

TEST(locks_count_anew_after_a_reset)
{
    CHECK(hew_stats_take());
    CHECK(number("stats.mutexes.ctl.num_ops") > 10);
    CHECK_EQUAL(ctl_do("stats.mutexes.reset"), 0);
    CHECK(hew_stats_take());
    CHECK(number("stats.mutexes.ctl.num_ops") <= 10);
}

/* SPDX-License-Identifier: MIT */
/* Unit tests of base/options: the tables hold what options.def says, and a value out of range is noticed. */
#include "base/options.h"

#include "test.h"

static const struct hew_option *
find(const char *name)
{
    for (const struct hew_option *option = hew_option_table; option->name[0] != '\0'; option++) {
        if (strcmp(option->name, name) == 0) {
            return option;
        }
    }
    printf("no option %s\n", name);
    return hew_option_table;
}

TEST(every_setting_of_jemalloc_is_known_once)
{
    size_t count = 0;
    for (const struct hew_option *option = hew_option_table; option->name[0] != '\0'; option++, count++) {
        for (const struct hew_option *other = option + 1; other->name[0] != '\0'; other++) {
            CHECK(strcmp(option->name, other->name) != 0);
        }
        for (const struct hew_old_option *old = hew_old_option_table; old->name != NULL; old++) {
            CHECK(strcmp(option->name, old->name) != 0);
        }
    }
    /* Ours: prof_format, prof_slabs, thp_threshold, control, conf_file, classes, pools, limit, limit_hard, reserve_maps, cache_room, depot_room,
     * tuning, hardening, guard_rate. */
    CHECK_EQUAL(count, 91 + 15);
}

TEST(the_defaults_are_in_their_ranges)
{
    CHECK(hew_options_valid(&hew_options));
}

TEST(the_defaults_are_those_of_jemalloc_where_hew_has_no_better_ones)
{
    CHECK_EQUAL(hew_options.dirty_decay_ms, 10000);
    CHECK_EQUAL(hew_options.muzzy_decay_ms, 0);
    CHECK_EQUAL(hew_options.oversize_threshold, 0);
    CHECK(hew_options.dss == HEW_DSS_SECONDARY);
    CHECK(hew_options.zero_realloc == HEW_ZERO_REALLOC_FREE);
    CHECK(hew_options.retain && hew_options.tcache && !hew_options.abort_conf);
    CHECK_TEXT(hew_options.prof_prefix, "jeprof");
}

TEST(hew_counts_one_arena_for_each_usable_cpu_caches_larger_sizes_and_purges_idle_programs)
{
    CHECK_EQUAL(hew_options.tcache_max, 262144);
    CHECK_EQUAL(hew_options.narenas, 0);
    CHECK_EQUAL(hew_options.narenas_ratio.thousandths, 1000);
    CHECK(hew_options.background_thread);
}

TEST(choices_have_words_in_the_order_of_their_enum)
{
    const char *const *words = hew_option_words(find("dss"));
    CHECK_TEXT(words[HEW_DSS_DISABLED], "disabled");
    CHECK_TEXT(words[HEW_DSS_SECONDARY], "secondary");
    CHECK(words[HEW_DSS_SECONDARY + 1] == NULL);
    CHECK(hew_option_words(find("narenas")) == NULL);
}

TEST(the_range_of_a_choice_ends_at_its_last_word)
{
    for (const struct hew_option *option = hew_option_table; option->name[0] != '\0'; option++) {
        const char *const *words = hew_option_words(option);
        CHECK((words != NULL) == (option->kind == HEW_KIND_CHOICE));
        if (words != NULL) {
            CHECK(words[option->high] != NULL);
            CHECK(words[option->high + 1] == NULL);
        }
    }
}

TEST(the_log2_option_points_at_the_size_it_sets)
{
    CHECK_EQUAL(find("lg_tcache_max")->offset, offsetof(struct hew_options, tcache_max));
    CHECK_EQUAL(find("lg_tcache_max")->kind, HEW_KIND_LOG2);
}

#define CHECK_INVALID(field, bad)                                                                                      \
    do {                                                                                                               \
        struct hew_options options = hew_options;                                                                      \
        options.field = bad;                                                                                           \
        CHECK(!hew_options_valid(&options));                                                                           \
    } while (0)

TEST(a_value_out_of_its_range_makes_the_options_invalid)
{
    CHECK_INVALID(narenas, HEW_OPTION_ARENAS_MAX + 1);
    CHECK_INVALID(prof_bt_max, 0);
    CHECK_INVALID(dirty_decay_ms, -2);
    CHECK_INVALID(lg_prof_interval, 64);
    CHECK_INVALID(stats_interval, -2);
    CHECK_INVALID(tcache_max, 8388609);
    CHECK_INVALID(narenas_ratio.thousandths, -1);
    CHECK_INVALID(dss, (enum hew_dss)(HEW_DSS_SECONDARY + 1));
}

TEST(ranges_are_invalid_when_backwards_too_many_or_out_of_bounds)
{
    struct hew_options options = hew_options;
    options.slab_sizes.count = 1;
    options.slab_sizes.at[0] = (struct hew_option_range){8, 64, 4};
    CHECK(hew_options_valid(&options));
    options.slab_sizes.at[0].value = 513;
    CHECK(!hew_options_valid(&options));
    options.slab_sizes.at[0] = (struct hew_option_range){65, 64, 4};
    CHECK(!hew_options_valid(&options));
    options = hew_options;
    options.bin_shards.count = HEW_OPTION_RANGES_MAX + 1;
    CHECK(!hew_options_valid(&options));
}

TEST(a_text_without_an_end_is_invalid)
{
    struct hew_options options = hew_options;
    memset(options.prof_prefix, 'x', sizeof(options.prof_prefix));
    CHECK(!hew_options_valid(&options));
}

/* SPDX-License-Identifier: MIT */
#include "base/options.h"
#include "control/mallctl/ctl_tree.h"
#include "control/mallctl/ctl_value.h"
#include "control/settings/conf.h"
#include "control/settings/conf_sources.h"
#include "ctl_calls.h"
#include "layers_alloc.h"
#include "test.h"

static void
hear_nothing(void *context, const char *line, size_t length)
{
}

static void
set(const char *text)
{
    CHECK_EQUAL(hew_conf_parse(&hew_options, text, "test", hear_nothing, NULL), 0);
}

/* What the field of an option must be read as, by its kind. */
static enum hew_ctl_type
type_of(const struct hew_option *option)
{
    static const enum hew_ctl_type types[] = {
        [HEW_KIND_BOOL] = HEW_CTL_BOOL,        [HEW_KIND_UNSIGNED] = HEW_CTL_UNSIGNED,
        [HEW_KIND_COUNT] = HEW_CTL_UNSIGNED,   [HEW_KIND_SIZE] = HEW_CTL_SIZE,
        [HEW_KIND_SSIZE] = HEW_CTL_SSIZE,      [HEW_KIND_INT64] = HEW_CTL_I64,
        [HEW_KIND_UINT64] = HEW_CTL_U64,       [HEW_KIND_FIXED] = HEW_CTL_U32,
        [HEW_KIND_CHOICE] = HEW_CTL_TEXT,      [HEW_KIND_TEXT] = HEW_CTL_TEXT,
        [HEW_KIND_LETTERS] = HEW_CTL_TEXT,     [HEW_KIND_POOLS] = HEW_CTL_TEXT,
        [HEW_KIND_CLASSES] = HEW_CTL_TEXT,     [HEW_KIND_FILE] = HEW_CTL_TEXT,
        [HEW_KIND_PERCENT] = HEW_CTL_UNSIGNED,
    };
    return types[option->kind];
}

TEST(every_name_below_opt_is_a_setting_of_that_type)
{
    unsigned count = 0;
    for (const struct hew_ctl_row *row = hew_ctl_rows; row->name[0] != '\0'; row++) {
        bool is_setting = strncmp(row->name, "opt.", 4) == 0 && strncmp(row->name, "opt.malloc_conf.", 16) != 0;
        if (!is_setting || ctl_do(row->name) == ENOENT) {
            continue;
        }
        const struct hew_option *option = &hew_option_table[row->field];
        count++;
        CHECK_TEXT(row->name + 4, option->name);
        CHECK(option->kind != HEW_KIND_RANGES && option->kind != HEW_KIND_LOG2);
        if (row->type != type_of(option)) {
            printf("%s has another type than its setting\n", row->name);
            test_failures++;
        }
        CHECK_EQUAL(row->access, HEW_CTL_READ);
    }
    CHECK(count >= 76);
}

TEST(a_setting_reads_as_it_was_set)
{
    bool retain = true;
    ssize_t decay = 0;
    size_t threshold = 0;
    int64_t interval = 0;
    unsigned arenas = 0, slots = 0;
    set("retain:false,dirty_decay_ms:-1,oversize_threshold:123456,stats_interval:-1,narenas:7,tcache_nslots_large:33");
    CHECK_EQUAL(ctl_read("opt.retain", &retain, sizeof retain), 0);
    CHECK_EQUAL(ctl_read("opt.dirty_decay_ms", &decay, sizeof decay), 0);
    CHECK_EQUAL(ctl_read("opt.oversize_threshold", &threshold, sizeof threshold), 0);
    CHECK_EQUAL(ctl_read("opt.stats_interval", &interval, sizeof interval), 0);
    CHECK_EQUAL(ctl_read("opt.narenas", &arenas, sizeof arenas), 0);
    CHECK_EQUAL(ctl_read("opt.tcache_nslots_large", &slots, sizeof slots), 0);
    CHECK(!retain && decay == -1 && threshold == 123456 && interval == -1 && arenas == 7 && slots == 33);
}

static void
check_text(const char *name, const char *expected)
{
    const char *text = "nothing";
    CHECK_EQUAL(ctl_read(name, &text, sizeof text), 0);
    CHECK_TEXT(text, expected);
}

TEST(a_choice_reads_as_its_word_and_a_text_as_itself)
{
    set("dss:primary,thp:never,junk:free,zero_realloc:abort,prof_prefix:here,stats_print_opts:gm,pools:64-10|96-5");
    check_text("opt.dss", "primary");
    check_text("opt.thp", "never");
    check_text("opt.junk", "free");
    check_text("opt.zero_realloc", "abort");
    check_text("opt.prof_prefix", "here");
    check_text("opt.pools", "64-10|96-5");
    check_text("opt.stats_print_opts", "gm");
    check_text("opt.metadata_thp", "disabled");
}

TEST(a_decimal_reads_as_sixteen_bits_before_and_after_the_point)
{
    uint32_t multiple = 0;
    CHECK_EQUAL(ctl_read("opt.hpa_dirty_mult", &multiple, sizeof multiple), 0);
    CHECK_EQUAL(multiple, 0x4000);
    set("hpa_dirty_mult:1.5");
    CHECK_EQUAL(ctl_read("opt.hpa_dirty_mult", &multiple, sizeof multiple), 0);
    CHECK_EQUAL(multiple, 0x18000);
    set("hpa_dirty_mult:-1");
    CHECK_EQUAL(ctl_read("opt.hpa_dirty_mult", &multiple, sizeof multiple), 0);
    CHECK_EQUAL(multiple, UINT32_MAX);
}

TEST(the_texts_that_settings_came_from_are_unknown_where_there_are_none)
{
    const char *text;
    struct hew_options options = hew_options;
    struct hew_conf_input input = {.environment = "narenas:3", .harder = "", .warn = hear_nothing};
    CHECK_EQUAL(ctl_read("opt.malloc_conf.env_var", &text, sizeof text), ENOENT);
    CHECK(hew_conf_load(&options, &input));
    check_text("opt.malloc_conf.env_var", "narenas:3");
    check_text("opt.malloc_conf.global_var_2_conf_harder", "");
    CHECK_EQUAL(ctl_read("opt.malloc_conf.symlink", &text, sizeof text), ENOENT);
    CHECK_EQUAL(ctl_read("opt.malloc_conf.global_var", &text, sizeof text), ENOENT);
}

/* SPDX-License-Identifier: MIT */
/* Unit tests of control/settings/conf: what each kind of setting takes, and what each line to the user says. */
#include "control/settings/conf.h"

#include "test.h"

static struct hew_options defaults, options;
static char heard[4096];
static size_t heard_lines;

__attribute__((constructor)) static void
keep_defaults(void)
{
    defaults = hew_options;
}

static void
hear(void *context, const char *line, size_t length)
{
    CHECK(context == &heard_lines);
    CHECK_EQUAL(strlen(line), length);
    CHECK_EQUAL(line[length - 1], '\n');
    strncat(heard, line, sizeof(heard) - strlen(heard) - 1);
    heard_lines++;
}

/* Parses text on top of the defaults. */
static size_t
parse(const char *text)
{
    options = defaults;
    heard[0] = '\0';
    heard_lines = 0;
    return hew_conf_parse(&options, text, "MALLOC_CONF", hear, &heard_lines);
}

#define CHECK_SILENT(text)                                                                                             \
    do {                                                                                                               \
        CHECK_EQUAL(parse(text), 0);                                                                                   \
        CHECK_TEXT(heard, "");                                                                                         \
        CHECK(hew_options_valid(&options));                                                                            \
    } while (0)

#define CHECK_SAYS(text, bad, line)                                                                                    \
    do {                                                                                                               \
        CHECK_EQUAL(parse(text), bad);                                                                                 \
        CHECK_TEXT(heard, "<hew>: MALLOC_CONF: " line "\n");                                                           \
        CHECK(hew_options_valid(&options));                                                                            \
    } while (0)

#define CHECK_UNCHANGED() CHECK(memcmp(&options, &defaults, sizeof(options)) == 0)

TEST(no_text_and_empty_text_change_nothing)
{
    CHECK_SILENT(NULL);
    CHECK_UNCHANGED();
    CHECK_SILENT("");
    CHECK_UNCHANGED();
}

TEST(bools_take_true_and_false_and_nothing_else)
{
    CHECK_SILENT("tcache:false,zero:true");
    CHECK(!options.tcache && options.zero);
    CHECK_SAYS("tcache:no", 1, "\"tcache:no\" ignored: tcache takes true or false");
    CHECK(options.tcache);
    CHECK_SAYS("tcache:", 1, "\"tcache:\" ignored: tcache takes true or false");
    CHECK_SAYS("tcache:TRUE", 1, "\"tcache:TRUE\" ignored: tcache takes true or false");
    CHECK_SAYS("tcache:t", 1, "\"tcache:t\" ignored: tcache takes true or false");
}

TEST(numbers_may_be_decimal_octal_or_hexadecimal)
{
    CHECK_SILENT("narenas:12");
    CHECK_EQUAL(options.narenas, 12);
    CHECK_SILENT("narenas:0x1F");
    CHECK_EQUAL(options.narenas, 31);
    CHECK_SILENT("narenas:017");
    CHECK_EQUAL(options.narenas, 15);
    CHECK_SILENT("narenas: +4");
    CHECK_EQUAL(options.narenas, 4);
    CHECK_SILENT("tcache_max:0");
    CHECK_EQUAL(options.tcache_max, 0);
}

TEST(a_number_must_be_the_whole_value)
{
    CHECK_SAYS("narenas:08", 1, "\"narenas:08\" ignored: narenas takes a whole number from 1 to 4094, or default");
    CHECK_SAYS("narenas:4 ", 1,
               "\"narenas:4 \" ignored: narenas takes a whole number from 1 to 4094, or default; "
               "write it without a unit");
    CHECK_SAYS("narenas:0x", 1,
               "\"narenas:0x\" ignored: narenas takes a whole number from 1 to 4094, or default; "
               "write it without a unit");
    CHECK_SAYS("narenas:", 1, "\"narenas:\" ignored: narenas takes a whole number from 1 to 4094, or default");
    CHECK_SAYS("narenas:-", 1, "\"narenas:-\" ignored: narenas takes a whole number from 1 to 4094, or default");
}

TEST(a_number_with_a_unit_is_refused_with_a_hint)
{
    CHECK_SAYS("dirty_decay_ms:10s", 1,
               "\"dirty_decay_ms:10s\" ignored: dirty_decay_ms takes a whole number of -1 or more; "
               "write it without a unit");
    CHECK_EQUAL(options.dirty_decay_ms, 10000);
}

TEST(a_number_in_percent_may_have_its_sign)
{
    CHECK_SILENT("cache_room:200%,depot_room:300");
    CHECK(options.cache_room == 200 && options.depot_room == 300);
    CHECK_SAYS("cache_room:2000%", 0, "\"cache_room:2000%\" taken as 1600, the most allowed");
    CHECK_SAYS("cache_room:90M", 1,
               "\"cache_room:90M\" ignored: cache_room takes a whole number from 25 to 1600, in percent, as 10 or 10%");
    CHECK_SAYS("cache_room:%", 1,
               "\"cache_room:%\" ignored: cache_room takes a whole number from 25 to 1600, in percent, as 10 or 10%");
    CHECK_SAYS(
        "cache_room:90%%", 1,
        "\"cache_room:90%%\" ignored: cache_room takes a whole number from 25 to 1600, in percent, as 10 or 10%");
    CHECK_SAYS("narenas:10%", 1,
               "\"narenas:10%\" ignored: narenas takes a whole number from 1 to 4094, or default; "
               "write it without a unit");
}

TEST(a_number_too_large_for_any_integer_is_refused)
{
    CHECK_SAYS("tcache_max:18446744073709551616", 1,
               "\"tcache_max:18446744073709551616\" ignored: tcache_max takes a whole number from 0 to 8388608");
    CHECK_SAYS("dirty_decay_ms:9223372036854775808", 1,
               "\"dirty_decay_ms:9223372036854775808\" ignored: dirty_decay_ms takes a whole number of -1 or more");
}

TEST(narenas_takes_default_as_a_word)
{
    CHECK_SILENT("narenas:3,narenas:default");
    CHECK_EQUAL(options.narenas, 0);
    CHECK_SAYS("narenas:0", 1, "\"narenas:0\" ignored: narenas takes a whole number from 1 to 4094, or default");
    CHECK_EQUAL(options.narenas, 0);
}

TEST(signed_numbers_take_minus_one_for_never)
{
    CHECK_SILENT("dirty_decay_ms:-1,muzzy_decay_ms:9000000000");
    CHECK(options.dirty_decay_ms == -1);
    CHECK(options.muzzy_decay_ms == 9000000000);
    CHECK_SAYS("muzzy_decay_ms:-2", 1,
               "\"muzzy_decay_ms:-2\" ignored: muzzy_decay_ms takes a whole number of -1 or more");
    CHECK(options.muzzy_decay_ms == 0);
    CHECK_SILENT("muzzy_decay_ms:-0,dirty_decay_ms:9223372036854775807");
    CHECK(options.dirty_decay_ms == INT64_MAX);
}

TEST(minus_one_wraps_round_for_unsigned_numbers)
{
    CHECK_SAYS("tcache_max:-1", 0, "\"tcache_max:-1\" taken as 8388608, the most allowed");
    CHECK_EQUAL(options.tcache_max, 8388608);
}

TEST(values_are_clipped_where_jemalloc_clips_and_refused_where_it_refuses)
{
    CHECK_SAYS("max_background_threads:0", 0, "\"max_background_threads:0\" taken as 1, the least allowed");
    CHECK_EQUAL(options.max_background_threads, 1);
    CHECK_SAYS("narenas:5000", 0, "\"narenas:5000\" taken as 4094, the most allowed");
    CHECK_SAYS("lg_extent_max_active_fit:65", 1,
               "\"lg_extent_max_active_fit:65\" ignored: lg_extent_max_active_fit takes a whole number from 0 to 64");
    CHECK_EQUAL(options.lg_extent_max_active_fit, 64);
}

TEST(lg_tcache_max_sets_tcache_max)
{
    CHECK_SILENT("lg_tcache_max:16");
    CHECK_EQUAL(options.tcache_max, 65536);
    CHECK_SILENT("tcache_max:8192,lg_tcache_max:0");
    CHECK_EQUAL(options.tcache_max, 1);
    CHECK_SAYS("lg_tcache_max:40", 0, "\"lg_tcache_max:40\" taken as 23, the most allowed");
    CHECK_EQUAL(options.tcache_max, 8388608);
}

TEST(ratios_are_decimals_kept_in_thousandths)
{
    CHECK_SILENT("narenas_ratio:4");
    CHECK_EQUAL(options.narenas_ratio.thousandths, 4000);
    CHECK_SILENT("narenas_ratio:.25");
    CHECK_EQUAL(options.narenas_ratio.thousandths, 250);
    CHECK_SILENT("narenas_ratio:1.12599");
    CHECK_EQUAL(options.narenas_ratio.thousandths, 1125);
    CHECK_SILENT("hpa_dirty_mult:-1");
    CHECK(options.hpa_dirty_mult.thousandths == -1000);
    CHECK_SAYS("narenas_ratio:-1", 1,
               "\"narenas_ratio:-1\" ignored: narenas_ratio takes a decimal number from 0 to 65535");
    CHECK_SAYS("narenas_ratio:.", 1,
               "\"narenas_ratio:.\" ignored: narenas_ratio takes a decimal number from 0 to 65535");
    CHECK_SAYS("hpa_hugification_threshold_ratio:1.001", 1,
               "\"hpa_hugification_threshold_ratio:1.001\" ignored: hpa_hugification_threshold_ratio takes a decimal "
               "number from 0 to 1");
    CHECK_SAYS("hpa_dirty_mult:x", 1,
               "\"hpa_dirty_mult:x\" ignored: hpa_dirty_mult takes a decimal number from -1 to 65535");
}

TEST(choices_take_their_words)
{
    CHECK_SILENT("junk:alloc,zero_realloc:abort,dss:primary,thp:never,metadata_thp:auto");
    CHECK(options.junk == HEW_JUNK_ALLOC && options.zero_realloc == HEW_ZERO_REALLOC_ABORT);
    CHECK(options.dss == HEW_DSS_PRIMARY && options.thp == HEW_THP_NEVER);
    CHECK(options.metadata_thp == HEW_METADATA_THP_AUTO);
    CHECK_SAYS("zero_realloc:none", 1, "\"zero_realloc:none\" ignored: zero_realloc takes alloc, free or abort");
    CHECK_SAYS("prof_time_resolution:low", 1,
               "\"prof_time_resolution:low\" ignored: prof_time_resolution takes default or high");
}

TEST(some_choices_take_the_beginning_of_a_word)
{
    CHECK_SILENT("dss:p,thp:al,metadata_thp:a");
    CHECK(options.dss == HEW_DSS_PRIMARY && options.thp == HEW_THP_ALWAYS);
    CHECK(options.metadata_thp == HEW_METADATA_THP_AUTO);
    CHECK_SAYS("zero_realloc:al", 1, "\"zero_realloc:al\" ignored: zero_realloc takes alloc, free or abort");
    CHECK_SAYS("dss:", 1, "\"dss:\" ignored: dss takes disabled, primary or secondary");
    CHECK_SAYS("thp:alwaysx", 1, "\"thp:alwaysx\" ignored: thp takes default, always or never");
}

TEST(some_names_take_their_beginning)
{
    CHECK_SILENT("d:disabled,m:always");
    CHECK(options.dss == HEW_DSS_DISABLED && options.metadata_thp == HEW_METADATA_THP_ALWAYS);
    CHECK_SILENT("hpa:true,hpa_hugify_st:eager");
    CHECK(options.hpa && options.hpa_hugify_style == HEW_HPA_HUGIFY_STYLE_EAGER);
    CHECK_SAYS("th:never", 1, "unknown setting \"th\", ignored");
}

TEST(texts_are_copied_and_cut_to_their_buffer)
{
    char text[1200] = "prof_prefix:";
    CHECK_EQUAL(parse("prof_prefix:/tmp/heap"), 0);
    CHECK_TEXT(options.prof_prefix, "/tmp/heap");
    CHECK_EQUAL(parse("prof_prefix:"), 0);
    CHECK_TEXT(options.prof_prefix, "");
    memset(text + strlen("prof_prefix:"), 'p', 1100);
    CHECK_EQUAL(parse(text), 0);
    CHECK_EQUAL(strlen(options.prof_prefix), 1023);
    CHECK(strstr(heard, "\" cut to its first bytes, 1023\n") != NULL);
}

TEST(letters_are_kept_once_and_others_are_named_as_left_out)
{
    CHECK_EQUAL(parse("stats_print_opts:JgmJ"), 0);
    CHECK_TEXT(options.stats_print_opts, "Jgm");
    CHECK_EQUAL(parse("stats_print_opts:aQb"), 0);
    CHECK_TEXT(options.stats_print_opts, "ab");
    CHECK(strstr(heard, "\"stats_print_opts:aQb\" taken without the letters that are none of Jgmdablxeh\n") != NULL);
}

TEST(ranges_are_lists_of_sizes_and_numbers)
{
    CHECK_EQUAL(parse("slab_sizes:1-64:4|65-0x80:2"), 0);
    CHECK_EQUAL(options.slab_sizes.count, 2);
    CHECK_EQUAL(options.slab_sizes.at[1].low, 65);
    CHECK_EQUAL(options.slab_sizes.at[1].high, 128);
    CHECK_EQUAL(options.slab_sizes.at[1].value, 2);
    CHECK_EQUAL(parse("slab_sizes:1-64:4,slab_sizes:default"), 0);
    CHECK_EQUAL(options.slab_sizes.count, 0);
    CHECK_EQUAL(parse("tcache_ncached_max:1-64:10000"), 0);
    CHECK_EQUAL(options.tcache_ncached_max.at[0].value, 8191);
    CHECK(strstr(heard, "taken with a number brought to 8191, the most allowed\n") != NULL);
}

TEST(broken_ranges_are_refused_as_a_whole)
{
    static const char *const broken[] = {"1-64",    "1-64:",    "64-1:2",   "1-64:0",   "1-64:513",
                                         "1-64:2|", "1-64:2|x", "1-64:2 x", "1-64:2:3", "",
                                         "-1-64:2", "1-64:-2",  "1:2",      "1-64;2",   "1-64:2||2-3"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        char text[64] = "slab_sizes:";
        strcat(text, broken[i]);
        CHECK_EQUAL(parse(text), 1);
        CHECK_UNCHANGED();
        CHECK(strstr(heard, " ignored: slab_sizes takes default, or up to 16 of LOW-HIGH:NUMBER joined by |, "
                            "sizes in bytes and a whole number from 1 to 512\n") != NULL);
    }
}

TEST(more_ranges_than_there_is_room_for_are_refused)
{
    char text[256] = "bin_shards:1-8:1";
    for (int i = 1; i < HEW_OPTION_RANGES_MAX; i++) {
        strcat(text, "|1-8:1");
    }
    CHECK_EQUAL(parse(text), 0);
    CHECK_EQUAL(options.bin_shards.count, HEW_OPTION_RANGES_MAX);
    strcat(text, "|1-8:1");
    CHECK_EQUAL(parse(text), 1);
    CHECK_EQUAL(options.bin_shards.count, 0);
}

TEST(pools_are_sizes_and_counts_kept_as_text)
{
    CHECK_SILENT("pools:64-1000|0x400-500");
    CHECK_TEXT(options.pools, "64-1000|0x400-500");
    CHECK_SILENT("pools:64-1000,pools:");
    CHECK_TEXT(options.pools, "");
}

TEST(what_is_wrong_with_pools_is_said_in_one_line)
{
    static const struct {
        const char *value, *fault;
    } bad[] = {
        {"0-10", "a size of 0 is none"},
        {"16-100|64-0", "a count of 0 declares nothing"},
        {"64-10|32-5|64-10", "a size stands there twice"},
        {"64-10|0x40-11", "a size stands there twice"},
        {"14337-1", "sizes go up to 14336; what is larger has pages of its own, which dirty_decay_ms keeps"},
        {"1024-68719476737", "size times count is more than the address space"},
        {"64-18446744073709551615", "size times count is more than the address space"},
        {"64-18446744073709551616", "it is not SIZE-COUNT, or several joined by |, in whole numbers"},
        {"64", "it is not SIZE-COUNT, or several joined by |, in whole numbers"},
        {"64:10", "it is not SIZE-COUNT, or several joined by |, in whole numbers"},
        {"64-10k", "it is not SIZE-COUNT, or several joined by |, in whole numbers"},
        {"64-10|", "it is not SIZE-COUNT, or several joined by |, in whole numbers"},
        {"|64-10", "it is not SIZE-COUNT, or several joined by |, in whole numbers"},
        {"-64-10", "it is not SIZE-COUNT, or several joined by |, in whole numbers"},
        {"64--10", "it is not SIZE-COUNT, or several joined by |, in whole numbers"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[80], line[240];
        snprintf(text, sizeof text, "pools:%s", bad[i].value);
        snprintf(line, sizeof line, "<hew>: MALLOC_CONF: \"%s\" ignored: pools: %s\n", text, bad[i].fault);
        CHECK_EQUAL(parse(text), 1);
        CHECK_UNCHANGED();
        CHECK_TEXT(heard, line);
    }
}

TEST(pools_that_are_too_many_to_be_kept_are_refused)
{
    static char text[1400] = "pools:1-1";
    for (unsigned size = 100; size < 300; size++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "|%u-1", size);
    }
    CHECK_EQUAL(parse(text), 1);
    CHECK_UNCHANGED();
    CHECK(strstr(heard, "\" ignored: pools: it is longer than 1023 bytes\n") != NULL);
}

TEST(classes_are_ascending_sizes_kept_as_text)
{
    CHECK_SILENT("classes:8|16|32|48|96");
    CHECK_TEXT(options.classes, "8|16|32|48|96");
    CHECK_SILENT("classes:16|0x20");
    CHECK_SILENT("classes:16|32,classes:");
    CHECK_TEXT(options.classes, "");
    CHECK_SILENT("classes:16|32,classes:default");
    CHECK_TEXT(options.classes, "");
}

TEST(what_is_wrong_with_classes_is_said_in_one_line_and_leaves_the_earlier_ones)
{
    static const struct {
        const char *value, *fault;
    } bad[] = {
        {"0", "0 is no multiple of 16 (8 alone is a class beside these)"},
        {"12", "12 is no multiple of 16 (8 alone is a class beside these)"},
        {"16|40", "40 is no multiple of 16 (8 alone is a class beside these)"},
        {"16|32|32", "32 is no more than the size before it"},
        {"16|8", "8 is no more than the size before it"},
        {"16|32|64|128|256|512|1024|2048|4096|8192|14352",
         "14352 is more than 14336; what is larger has pages of its own"},
        {"16|18446744073709551600", "18446744073709551600 is more than 14336; what is larger has pages of its own"},
        {"16|18446744073709551616", "it is not SIZE, or several joined by |, in whole numbers"},
        {"16|-32", "it is not SIZE, or several joined by |, in whole numbers"},
        {"16|", "it is not SIZE, or several joined by |, in whole numbers"},
        {"|16", "it is not SIZE, or several joined by |, in whole numbers"},
        {"16 32", "it is not SIZE, or several joined by |, in whole numbers"},
        {"Default", "it is not SIZE, or several joined by |, in whole numbers"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[120], line[240];
        snprintf(text, sizeof text, "classes:16|32,classes:%s", bad[i].value);
        snprintf(line, sizeof line, "<hew>: MALLOC_CONF: \"classes:%s\" ignored: classes: %s\n", bad[i].value,
                 bad[i].fault);
        CHECK_EQUAL(parse(text), 1);
        CHECK_TEXT(options.classes, "16|32");
        CHECK_TEXT(heard, line);
    }
}

TEST(a_later_pair_wins_and_a_bad_one_leaves_the_earlier_in_force)
{
    CHECK_SILENT("narenas:2,narenas:7");
    CHECK_EQUAL(options.narenas, 7);
    CHECK_EQUAL(parse("narenas:7,narenas:many,tcache:false"), 1);
    CHECK_EQUAL(options.narenas, 7);
    CHECK(!options.tcache);
}

TEST(each_bad_pair_counts_and_has_its_line)
{
    CHECK_EQUAL(parse("narenas:x,nonsense:1,tcache:false,zero:2"), 3);
    CHECK_EQUAL(heard_lines, 3);
    CHECK(!options.tcache);
}

TEST(a_misspelt_name_is_told_with_the_one_that_was_meant)
{
    CHECK_SAYS("dirty_decay:5000", 1, "unknown setting \"dirty_decay\": did you mean \"dirty_decay_ms\"?");
    CHECK_SAYS("naernas:1", 1, "unknown setting \"naernas\": did you mean \"narenas\"?");
    CHECK_SAYS("NARENAS:1", 1, "unknown setting \"NARENAS\": did you mean \"narenas\"?");
    CHECK_SAYS("background_threads:true", 1,
               "unknown setting \"background_threads\": did you mean \"background_thread\"?");
    CHECK_SAYS("decay:1", 1, "unknown setting \"decay\": did you mean \"dirty_decay_ms\"?");
}

TEST(a_name_near_nothing_is_told_without_a_guess)
{
    CHECK_SAYS("frobnicate:1", 1, "unknown setting \"frobnicate\", ignored");
    CHECK_SAYS("x:1", 1, "unknown setting \"x\", ignored");
}

TEST(experimental_settings_are_told_but_not_counted)
{
    CHECK_SAYS("experimental_warp:1", 0, "unknown setting \"experimental_warp\", ignored");
    CHECK_SAYS("experimental_tcache_gc:1", 0,
               "\"experimental_tcache_gc:1\" ignored: experimental_tcache_gc takes true or false");
}

TEST(names_of_old_jemallocs_are_told_but_not_counted)
{
    CHECK_SAYS("lg_dirty_mult:8", 0, "\"lg_dirty_mult:8\" ignored, an old name: use dirty_decay_ms");
    CHECK_SAYS("hpa_sec_bytes_after_flush:1", 0,
               "\"hpa_sec_bytes_after_flush:1\" ignored, an old name: jemalloc dropped it after 5.3.0");
    CHECK_UNCHANGED();
}

TEST(a_setting_without_meaning_here_is_taken_in_silence)
{
    CHECK_SILENT("metadata_thp:always,hpa:true,utrace:true,log:all");
}

TEST(malformed_text_ends_its_source_and_names_the_place)
{
    CHECK_SAYS("narenas:2,tcache=false,zero:true", 1,
               "unexpected \"=\" after \"tcache\", the rest is ignored: write name:value,name:value");
    CHECK_EQUAL(options.narenas, 2);
    CHECK(options.tcache && !options.zero);
    CHECK_SAYS(",zero:true", 1,
               "unexpected \",\" where a name should stand, the rest is ignored: write name:value,name:value");
    CHECK_SAYS(":true", 1,
               "unexpected \":\" where a name should stand, the rest is ignored: write name:value,name:value");
    CHECK_SAYS("zero:true, tcache:false", 1,
               "unexpected \" \" where a name should stand, the rest is ignored: write name:value,name:value");
    CHECK(options.zero && options.tcache);
    CHECK_SAYS("zero:true,tcache", 1, "ends after \"tcache\", without a value: write name:value,name:value");
}

TEST(a_comma_at_the_end_is_bad_but_the_pair_before_it_applies)
{
    CHECK_SAYS("zero:true,", 1, "ends with a comma: a setting may be missing");
    CHECK(options.zero);
}

TEST(names_and_values_in_messages_are_cut_and_made_printable)
{
    char text[2000];
    memset(text, 'q', sizeof(text));
    memcpy(text + 1000, ":\x1b[2J", 5);
    text[1999] = '\0';
    CHECK_EQUAL(parse(text), 1);
    CHECK_EQUAL(heard_lines, 1);
    CHECK(strlen(heard) < 200);
    CHECK_SAYS("zero:\x1b[2J", 1, "\"zero:?[2J\" ignored: zero takes true or false");
}

TEST(a_very_long_source_name_still_gives_one_line)
{
    static char name[3000];
    memset(name, 's', sizeof(name) - 1);
    heard[0] = '\0';
    heard_lines = 0;
    CHECK_EQUAL(hew_conf_parse(&options, "bin_shards:1", name, hear, &heard_lines), 1);
    CHECK_EQUAL(heard_lines, 1);
}

TEST(confirm_conf_tells_each_setting_that_was_taken)
{
    CHECK_SAYS("confirm_conf:true,narenas:2", 0,
               "\"confirm_conf:true\" taken\n"
               "<hew>: MALLOC_CONF: \"narenas:2\" taken");
    CHECK_SAYS("confirm_conf:true,hpa:true", 0,
               "\"confirm_conf:true\" taken\n"
               "<hew>: MALLOC_CONF: \"hpa:true\" taken, without effect here: docs/options.md says why");
}

TEST(one_bool_can_be_read_ahead_of_the_rest)
{
    bool value = false;
    hew_conf_read_bool("narenas:2,confirm_conf:true", "confirm_conf", &value);
    CHECK(value);
    hew_conf_read_bool("confirm_conf:maybe,bad pair", "confirm_conf", &value);
    CHECK(value);
    hew_conf_read_bool(NULL, "confirm_conf", &value);
    CHECK(value);
    hew_conf_read_bool("confirm_conf:true,confirm_conf:false", "confirm_conf", &value);
    CHECK(!value);
}

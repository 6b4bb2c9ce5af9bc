/* SPDX-License-Identifier: MIT */
/* Unit tests of control/settings/conf_sources: the order of the sources, the first pass and abort_conf. */
#include "control/settings/conf_sources.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "test.h"

static struct hew_options defaults, options;
static char heard[4096];

__attribute__((constructor)) static void
keep_defaults(void)
{
    defaults = hew_options;
}

static void
hear(void *context, const char *line, size_t length)
{
    CHECK_EQUAL(strlen(line), length);
    strncat(heard, line, sizeof(heard) - strlen(heard) - 1);
}

static bool
load(struct hew_conf_input input)
{
    options = defaults;
    heard[0] = '\0';
    input.warn = hear;
    return hew_conf_load(&options, &input);
}

TEST(no_source_at_all_leaves_the_defaults)
{
    CHECK(load((struct hew_conf_input){.built_in = NULL}));
    CHECK(memcmp(&options, &defaults, sizeof(options)) == 0);
    CHECK_TEXT(heard, "");
}

TEST(each_source_wins_over_those_before_it)
{
    struct hew_conf_input input = {"narenas:1", "narenas:2", "narenas:3", "narenas:4",
                                   "narenas:5", "narenas:6", NULL,        NULL};
    CHECK(load(input));
    CHECK_EQUAL(options.narenas, 6);
    input.harder = NULL;
    CHECK(load(input));
    CHECK_EQUAL(options.narenas, 5);
    input.own = NULL;
    CHECK(load(input));
    CHECK_EQUAL(options.narenas, 4);
    input.environment = NULL;
    CHECK(load(input));
    CHECK_EQUAL(options.narenas, 3);
    input.link = "";
    CHECK(load(input));
    CHECK_EQUAL(options.narenas, 2);
    input.variable = NULL;
    CHECK(load(input));
    CHECK_EQUAL(options.narenas, 1);
}

TEST(a_line_names_the_source_it_is_about)
{
    CHECK(load((struct hew_conf_input){"a:1", "b:1", "c:1", "e:1", "o:1", "f:1", NULL, NULL}));
    CHECK_TEXT(heard, "<hew>: built-in settings: unknown setting \"a\", ignored\n"
                      "<hew>: " HEW_CONF_VARIABLE ": unknown setting \"b\", ignored\n"
                      "<hew>: " HEW_CONF_LINK ": unknown setting \"c\", ignored\n"
                      "<hew>: " HEW_SETTINGS_NAME ": unknown setting \"e\", ignored\n"
                      "<hew>: " HEW_OWN_SETTINGS_NAME ": unknown setting \"o\", ignored\n"
                      "<hew>: " HEW_CONF_HARDER ": unknown setting \"f\", ignored\n");
}

TEST(confirm_conf_in_the_last_source_shows_the_first_one_too)
{
    CHECK(load((struct hew_conf_input){.variable = "narenas:2", .harder = "confirm_conf:true"}));
    CHECK_TEXT(heard, "<hew>: reading built-in settings: none\n"
                      "<hew>: reading " HEW_CONF_VARIABLE ": narenas:2\n"
                      "<hew>: " HEW_CONF_VARIABLE ": \"narenas:2\" taken\n"
                      "<hew>: reading " HEW_CONF_LINK ": none\n"
                      "<hew>: reading " HEW_SETTINGS_NAME ": none\n"
                      "<hew>: reading " HEW_OWN_SETTINGS_NAME ": none\n"
                      "<hew>: reading " HEW_CONF_HARDER ": confirm_conf:true\n"
                      "<hew>: " HEW_CONF_HARDER ": \"confirm_conf:true\" taken\n");
}

TEST(confirm_conf_taken_back_by_a_later_source_stays_silent)
{
    CHECK(load((struct hew_conf_input){.variable = "confirm_conf:true", .environment = "confirm_conf:false"}));
    CHECK(!options.confirm_conf);
    CHECK(strstr(heard, "reading built-in") == NULL);
}

TEST(a_soft_limit_above_the_hard_one_is_named_once_and_taken_as_the_hard_one)
{
    CHECK(load((struct hew_conf_input){.variable = "limit:2000000", .environment = "limit_hard:1000000"}));
    CHECK_TEXT(heard, "<hew>: \"limit:2000000\" is above \"limit_hard:1000000\": taken as 1000000\n");
    CHECK(options.limit == 1000000 && options.limit_hard == 1000000);
    CHECK(load((struct hew_conf_input){.environment = "limit:1000000,limit_hard:2000000"}));
    CHECK_TEXT(heard, "");
    CHECK(options.limit == 1000000 && options.limit_hard == 2000000);
    CHECK(load((struct hew_conf_input){.environment = "limit:5000,limit_hard:0"})); /* 0 is none */
    CHECK(options.limit == 5000 && options.limit_hard == 0);
    CHECK_TEXT(heard, "");
}

TEST(a_limit_that_is_no_number_of_bytes_is_named_and_leaves_none)
{
    CHECK(load((struct hew_conf_input){.environment = "limit:64M"}));
    CHECK(strstr(heard, "\"limit:64M\" ignored: limit takes a whole number") != NULL);
    CHECK(strstr(heard, "write it without a unit") != NULL);
    CHECK_EQUAL(options.limit, 0);
}

TEST(abort_conf_ends_after_the_source_with_the_bad_pair)
{
    struct hew_conf_input input = {.variable = "abort_conf:true,narenas:x,zero:true", .environment = "narenas:2"};
    CHECK(!load(input));
    CHECK(options.zero);
    CHECK_EQUAL(options.narenas, 0);
    CHECK_TEXT(heard,
               "<hew>: " HEW_CONF_VARIABLE ": \"narenas:x\" ignored: narenas takes a whole number from 1 to 4094, "
               "or default\n");
}

TEST(abort_conf_counts_what_was_bad_in_earlier_sources)
{
    CHECK(!load((struct hew_conf_input){.variable = "nonsense:1", .environment = "abort_conf:true"}));
    CHECK(load((struct hew_conf_input){.variable = "abort_conf:true,narenas:2", .environment = "zero:true"}));
}

TEST(abort_conf_tolerates_experimental_and_old_names)
{
    CHECK(load((struct hew_conf_input){.environment = "abort_conf:true,experimental_warp:1,lg_chunk:20"}));
    CHECK(strstr(heard, "experimental_warp") != NULL);
    CHECK(strstr(heard, "lg_chunk") != NULL);
}

TEST(a_malformed_source_does_not_stop_the_next_one)
{
    CHECK(load((struct hew_conf_input){.variable = "narenas=2", .environment = "narenas:3"}));
    CHECK_EQUAL(options.narenas, 3);
}

TEST(the_target_of_a_link_is_read_as_text_and_errno_is_kept)
{
    char name[] = "conf_link_test_XXXXXX", buffer[64];
    CHECK(mkdtemp(name) != NULL);
    CHECK_EQUAL(rmdir(name), 0);
    CHECK_EQUAL(symlink("narenas:9,zero:true", name), 0);
    errno = 77;
    CHECK_TEXT(hew_conf_read_link(name, buffer, sizeof(buffer)), "narenas:9,zero:true");
    CHECK_TEXT(hew_conf_read_link(name, buffer, 8), "narenas");
    CHECK_EQUAL(unlink(name), 0);
    CHECK(hew_conf_read_link(name, buffer, sizeof(buffer)) == NULL);
    CHECK_EQUAL(errno, 77);
}

TEST(the_environment_of_the_process_is_gathered)
{
    struct hew_conf_input input = {.variable = "narenas:2"};
    CHECK_EQUAL(setenv(HEW_SETTINGS_NAME, "narenas:6", 1), 0);
    CHECK_EQUAL(setenv(HEW_OWN_SETTINGS_NAME, "narenas:7", 1), 0);
    hew_conf_gather(&input);
    CHECK_TEXT(input.environment, "narenas:6");
    CHECK_TEXT(input.own, "narenas:7");
    CHECK_TEXT(input.variable, "narenas:2");
    CHECK_TEXT(input.built_in, HEW_MALLOC_CONF);
    CHECK_EQUAL(unsetenv(HEW_SETTINGS_NAME), 0);
    CHECK_EQUAL(unsetenv(HEW_OWN_SETTINGS_NAME), 0);
    hew_conf_gather(&input);
    CHECK(input.environment == NULL);
    CHECK(input.own == NULL);
}

TEST(lines_go_to_standard_error)
{
    struct hew_conf_input input = {.variable = NULL};
    char buffer[16] = "";
    int ends[2], saved = dup(2);
    CHECK_EQUAL(pipe(ends), 0);
    CHECK(dup2(ends[1], 2) == 2);
    hew_conf_gather(&input);
    input.warn(input.context, "one line\n", 9);
    CHECK(dup2(saved, 2) == 2);
    CHECK_EQUAL(read(ends[0], buffer, sizeof(buffer) - 1), 9);
    CHECK_TEXT(buffer, "one line\n");
    close(ends[0]);
    close(ends[1]);
    close(saved);
}

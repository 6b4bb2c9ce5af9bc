/* SPDX-License-Identifier: MIT */
/* Unit tests of control/settings/conf_sources: the order of the sources, the first pass and abort_conf. */
#include "control/settings/conf_sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
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

static char path[64];

static void
write_file(const char *text, size_t length)
{
    strcpy(path, "/tmp/hew_conf_file_XXXXXX");
    int file = mkstemp(path);
    CHECK(file >= 0 && write(file, text, length) == (ssize_t)length);
    close(file);
}

static bool
load_with_file(const char *format, const char *text)
{
    char setting[200];
    write_file(text, strlen(text));
    snprintf(setting, sizeof setting, format, path);
    bool loaded = load((struct hew_conf_input){.environment = setting});
    unlink(path);
    return loaded;
}

TEST(a_file_of_settings_applies_before_the_source_that_names_it)
{
    CHECK(
        load_with_file("narenas:5,conf_file:%s",
                       "# cut from job.trace\r\n\n  # 12 %, more\n\tclasses:16|32|48 \r\nnarenas:3,tcache:false\n\n#"));
    CHECK_TEXT(heard, "");
    CHECK_TEXT(options.classes, "16|32|48");
    CHECK_EQUAL(options.narenas, 5);
    CHECK(!options.tcache);
    CHECK_TEXT(options.conf_file, path);
    CHECK(load_with_file("conf_file:%s", "narenas:3"));
    CHECK_EQUAL(options.narenas, 3);
    CHECK(load_with_file("conf_file:%s,conf_file:", "narenas:3")); /* taken back */
    CHECK_EQUAL(options.narenas, defaults.narenas);
}

TEST(what_is_wrong_in_a_file_of_settings_is_told_by_its_name)
{
    char line[400];
    CHECK(load_with_file("conf_file:%s", "# nothing\nclasses:16|40\nnarenas:2\n"));
    snprintf(line, sizeof line,
             "<hew>: %s: \"classes:16|40\" ignored: classes: 40 is no multiple of 16 (8 alone is a class beside "
             "these)\n",
             path);
    CHECK_TEXT(heard, line);
    CHECK_EQUAL(options.narenas, 2);
    CHECK(!load_with_file("abort_conf:true,conf_file:%s", "narenas:many"));
}

TEST(a_file_of_settings_that_is_none_is_told_and_the_rest_applies)
{
    static char long_text[16384 + 10];
    CHECK(load((struct hew_conf_input){.own = "conf_file:/nowhere/at\tall,narenas:4"}));
    CHECK_TEXT(heard, "<hew>: HEW_CONF: \"conf_file:/nowhere/at?all\": the file is ignored: it cannot be read, is no "
                      "file, or is empty\n");
    CHECK_EQUAL(options.narenas, 4);
    CHECK(load((struct hew_conf_input){.own = "conf_file:/tmp"}));
    CHECK(strstr(heard, "it cannot be read") != NULL);
    CHECK(load((struct hew_conf_input){.own = "conf_file:/dev/zero"}));
    CHECK(strstr(heard, "is no file") != NULL);
    CHECK(load_with_file("conf_file:%s", "narenas:2,\nbackground_thread:false,\n"));
    CHECK_TEXT(heard, "");
    CHECK_EQUAL(options.narenas, 2);
    CHECK(!options.background_thread);
    CHECK(load_with_file("conf_file:%s", "narenas:2,conf_file:/etc/other"));
    CHECK(strstr(heard, "\": the file is ignored: it names another one\n") != NULL);
    CHECK_EQUAL(options.narenas, defaults.narenas);
    memset(long_text, '#', sizeof long_text - 1);
    CHECK(load_with_file("conf_file:%s", long_text));
    CHECK(strstr(heard, "it has 16384 bytes or more") != NULL);
    long_text[16383] = '\0';
    CHECK(load_with_file("conf_file:%s", long_text));
    CHECK_TEXT(heard, "");
    char pipe_path[64] = "/tmp/hew_conf_pipe_XXXXXX", setting[100];
    CHECK(mkdtemp(pipe_path) != NULL);
    strcat(pipe_path, "/p");
    CHECK_EQUAL(mkfifo(pipe_path, 0600), 0);
    snprintf(setting, sizeof setting, "conf_file:%s", pipe_path);
    CHECK(load((struct hew_conf_input){.own = setting})); /* without a writer: no waiting */
    CHECK(strstr(heard, "it cannot be read") != NULL);
    unlink(pipe_path);
    pipe_path[strlen(pipe_path) - 2] = '\0';
    rmdir(pipe_path);
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

/* SPDX-License-Identifier: MIT */
/*
 * conf_fuzz: the parser of MALLOC_CONF under arbitrary text.
 *
 * Holds that it never crashes, that the options stay in their ranges, that each message is one printable line, and that
 * the same text once more changes nothing (a later pair wins, so the last word on each option is the same).
 */
#include "control/settings/conf.h"
#include "control/settings/conf_classes.h"
#include "control/settings/conf_pools.h"
#include "control/settings/conf_sources.h"
#include "fuzz/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 4096

static void
require(bool holds, const char *what, const char *text)
{
    if (!holds) {
        fprintf(stderr, "%s, after the text: %s\n", what, text);
        abort();
    }
}

static void
hear(void *context, const char *line, size_t length)
{
    require(length > 1 && line[length] == '\0' && line[length - 1] == '\n', "a message is no whole line", context);
    require(memchr(line, '\n', length) == line + length - 1, "a message is more than one line", context);
    require(strncmp(line, "<hew>: ", 7) == 0, "a message does not say whose it is", context);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hew_options start;
    static bool started;
    struct hew_options once, twice;
    struct hew_conf_classes classes;
    char text[TEXT_BYTES];
    size_t length = size < sizeof(text) - 1 ? size : sizeof(text) - 1;

    if (!started) {
        start = hew_options;
        started = true;
    }
    memcpy(text, data, length);
    text[length] = '\0';
    once = start;
    hew_conf_parse(&once, text, "fuzz", hear, text);
    require(hew_options_valid(&once), "an option left its range", text);
    require(hew_conf_pools_fault(once.pools, strlen(once.pools)) == NULL, "pools with a fault were taken", text);
    require(hew_conf_classes_read(once.classes, strlen(once.classes), &classes).what == NULL,
            "classes with a fault were taken", text);
    require(classes.count == 0 || classes.sizes[classes.count - 1] == HEW_SMALL_MAX, "classes end early", text);
    twice = once;
    hew_conf_parse(&twice, text, "fuzz", hear, text);
    require(memcmp(&once, &twice, sizeof(once)) == 0, "the same text changed something the second time", text);
    twice = start;
    hew_conf_load(&twice, &(struct hew_conf_input){.environment = text, .warn = hear, .context = text});
    require(memcmp(&once, &twice, sizeof(once)) == 0, "a source reads otherwise than the parser", text);
    return 0;
}

static size_t
put(uint8_t *data, size_t at, size_t capacity, const char *string)
{
    size_t length = strlen(string);

    length = length < capacity - at ? length : capacity - at;
    memcpy(data + at, string, length);
    return at + length;
}

static const char *
any_name(uint64_t *random)
{
    size_t count = 0, pick;

    while (hew_option_table[count].name[0] != '\0') {
        count++;
    }
    pick = fuzz_random(random) % (count + 2);
    return pick < count ? hew_option_table[pick].name : hew_old_option_table[pick - count].name;
}

static const char *
any_value(uint64_t *random)
{
    static const char *const values[] = {
        "true",
        "false",
        "default",
        "0",
        "1",
        "-1",
        "-2",
        "4",
        "23",
        "64",
        "4096",
        "0x10",
        "017",
        "18446744073709551615",
        "18446744073709551616",
        "9223372036854775807",
        "-9223372036854775808",
        "0.5",
        ".25",
        "-1.5",
        "1.",
        "disabled",
        "primary",
        "sec",
        "always",
        "alloc",
        "free",
        "lazy",
        "percpu",
        "high",
        "Jgmdablxeh",
        "Jz",
        "1-64:4",
        "1-64:4|65-128:8",
        "64-1:4",
        "1-64:0|",
        "64-10",
        "64-10|128-0x20",
        "64-10|64-1",
        "heap",
        "",
        "10k",
        "\x1b[1m",
        "a text that is longer than the buffer of the shortest text option, which has room for sixty-three",
    };

    return values[fuzz_random(random) % (sizeof(values) / sizeof(values[0]))];
}

/* Pairs of known names and likely values, then a few bytes of it hit at random. */
size_t
fuzz_make_input(uint64_t *random, uint8_t *data, size_t capacity)
{
    size_t size = 0, room = capacity < TEXT_BYTES ? capacity : TEXT_BYTES;
    unsigned pairs = fuzz_random(random) % 6, hits = fuzz_random(random) % 4;

    for (unsigned i = 0; i < pairs; i++) {
        size = put(data, size, room, i == 0 ? "" : ",");
        size = put(data, size, room, any_name(random));
        size = put(data, size, room, ":");
        size = put(data, size, room, any_value(random));
    }
    for (unsigned i = 0; i < hits && size > 0; i++) {
        static const uint8_t likely[] = ",:_-|.0x1 \t=a\xff";
        uint64_t number = fuzz_random(random);
        data[number % size] = number >> 63 ? likely[(number >> 32) % (sizeof(likely) - 1)] : (uint8_t)(number >> 40);
    }
    return size;
}

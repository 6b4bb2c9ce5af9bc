/* SPDX-License-Identifier: MIT */
/* conf: see conf.h. */
#include "control/settings/conf.h"

#include "base/text.h"
#include "control/settings/conf_classes.h"
#include "control/settings/conf_name.h"
#include "control/settings/conf_pools.h"
#include "control/settings/conf_value.h"

#include <string.h>

/* Longer names and values are cut in messages to keep one line. */
#define CONF_SHOWN_BYTES 80

/* Fits the longest line: source, name, value and seven choices. */
#define CONF_LINE_BYTES 640

struct conf_parser {
    struct hew_options *options;
    const char *source;
    hew_conf_warn warn;
    void *context;
    size_t bad;
};

struct conf_pair {
    const char *name;
    size_t name_length;
    const char *value;
    size_t value_length;
};

enum conf_step { CONF_PAIR, CONF_END, CONF_MALFORMED };

struct conf_line {
    struct hew_text text;
    char buffer[CONF_LINE_BYTES];
};

static bool
name_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_';
}

/* Parses the next pair from *at on.  If it is malformed, pair has the name and *at is the error's position. */
static enum conf_step
next_pair(const char **at, struct conf_pair *pair)
{
    const char *cursor = *at;

    if (*cursor == '\0') {
        return CONF_END;
    }
    pair->name = cursor;
    while (name_byte(*cursor)) {
        cursor++;
    }
    pair->name_length = (size_t)(cursor - pair->name);
    *at = cursor;
    if (*cursor != ':' || pair->name_length == 0) {
        return CONF_MALFORMED;
    }
    pair->value = ++cursor;
    while (*cursor != '\0' && *cursor != ',') {
        cursor++;
    }
    pair->value_length = (size_t)(cursor - pair->value);
    *at = cursor;
    return CONF_PAIR;
}

static void
put_shown(struct hew_text *text, const char *bytes, size_t length)
{
    hew_text_put_printable(text, bytes, length < CONF_SHOWN_BYTES ? length : CONF_SHOWN_BYTES);
    if (length > CONF_SHOWN_BYTES) {
        hew_text_put(text, "...");
    }
}

/* <hew>: MALLOC_CONF: */
static void
line_begin(struct conf_line *line, const struct conf_parser *parser)
{
    hew_text_begin(&line->text, line->buffer, sizeof(line->buffer) - 1); /* reserve one byte for the newline */
    hew_text_put(&line->text, "<hew>: ");
    put_shown(&line->text, parser->source, strlen(parser->source));
    hew_text_put(&line->text, ": ");
}

static void
line_begin_with_pair(struct conf_line *line, const struct conf_parser *parser, const struct conf_pair *pair)
{
    line_begin(line, parser);
    hew_text_put(&line->text, "\"");
    put_shown(&line->text, pair->name, pair->name_length);
    hew_text_put(&line->text, ":");
    put_shown(&line->text, pair->value, pair->value_length);
    hew_text_put(&line->text, "\" ");
}

static void
line_say(struct conf_line *line, const struct conf_parser *parser)
{
    line->buffer[line->text.length] = '\n';
    line->buffer[line->text.length + 1] = '\0';
    parser->warn(parser->context, line->buffer, line->text.length + 1);
}

static void
put_number(struct hew_text *text, const struct hew_option *option, bool low)
{
    if (option->kind == HEW_KIND_FIXED) {
        hew_text_put(text, low && option->low < 0 ? "-" : "");
        hew_text_put_thousandths(text, !low ? option->high : (uint64_t)(option->low < 0 ? -option->low : option->low));
    } else if (low) {
        hew_text_put_signed(text, option->low);
    } else {
        hew_text_put_unsigned(text, option->high);
    }
}

/* a number from 1 to 16; a number of 0 or more */
static void
put_number_range(struct hew_text *text, const struct hew_option *option)
{
    bool bounded = option->high < INT64_MAX && option->high != UINT_MAX;

    hew_text_put(text, option->kind == HEW_KIND_FIXED ? "a decimal number " : "a whole number ");
    hew_text_put(text, bounded ? "from " : "of ");
    put_number(text, option, true);
    if (bounded) {
        hew_text_put(text, " to ");
        put_number(text, option, false);
    } else {
        hew_text_put(text, " or more");
    }
}

static void
put_words(struct hew_text *text, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        if (i > 0) {
            hew_text_put(text, words[i + 1] == NULL ? " or " : ", ");
        }
        hew_text_put(text, words[i]);
    }
}

/* Describes the valid values. */
static void
put_expected(struct hew_text *text, const struct hew_option *option)
{
    switch (option->kind) {
    case HEW_KIND_BOOL:
        hew_text_put(text, "true or false");
        break;
    case HEW_KIND_CHOICE:
        put_words(text, hew_option_words(option));
        break;
    case HEW_KIND_RANGES:
        hew_text_put(text, "default, or up to ");
        hew_text_put_unsigned(text, HEW_OPTION_RANGES_MAX);
        hew_text_put(text, " of LOW-HIGH:NUMBER joined by |, sizes in bytes and ");
        put_number_range(text, option);
        break;
    default:
        put_number_range(text, option);
        hew_text_put(text, option->kind == HEW_KIND_COUNT     ? ", or default"
                           : option->kind == HEW_KIND_PERCENT ? ", in percent, as 10 or 10%"
                                                              : "");
        break;
    }
}

/* 64k, 10s: a number with a unit, the most frequent mistake. */
static bool
has_unit(const struct conf_pair *pair)
{
    char first = pair->value_length > 1 ? pair->value[0] : 'x';
    char last = pair->value_length > 1 ? pair->value[pair->value_length - 1] : '0';

    return first >= '0' && first <= '9' && !(last >= '0' && last <= '9');
}

static bool
name_is_experimental(const struct conf_pair *pair)
{
    size_t length = strlen("experimental_");

    return pair->name_length >= length && memcmp(pair->name, "experimental_", length) == 0;
}

/* Pools, classes and paths are accepted or refused as a whole. */
static bool
is_taken_whole(const struct hew_option *option)
{
    return option->kind == HEW_KIND_POOLS || option->kind == HEW_KIND_CLASSES || option->kind == HEW_KIND_FILE;
}

static struct hew_conf_fault
fault_of(const struct hew_option *option, const struct conf_pair *pair)
{
    struct hew_conf_classes classes;
    if (option->kind == HEW_KIND_POOLS) {
        return (struct hew_conf_fault){.what = hew_conf_pools_fault(pair->value, pair->value_length)};
    }
    if (option->kind == HEW_KIND_CLASSES && !hew_conf_value_is(pair->value, pair->value_length, "default", false)) {
        return hew_conf_classes_read(pair->value, pair->value_length, &classes);
    }
    return (struct hew_conf_fault){.what = NULL};
}

/* Describes the fault of a declaration. */
static void
put_fault(struct hew_text *text, const struct hew_option *option, struct hew_conf_fault fault)
{
    hew_text_put(text, ": ");
    if (fault.what != NULL) {
        if (fault.of_size) {
            hew_text_put_unsigned(text, fault.size);
            hew_text_put(text, " ");
        }
        hew_text_put(text, fault.what);
    } else {
        hew_text_put(text, "it is longer than ");
        hew_text_put_unsigned(text, option->high - 1);
        hew_text_put(text, " bytes");
    }
}

/* `fault`: the fault of a declaration, other than its length. */
static void
say_refused(struct conf_parser *parser, const struct conf_pair *pair, const struct hew_option *option,
            struct hew_conf_fault fault)
{
    struct conf_line line;

    line_begin_with_pair(&line, parser, pair);
    hew_text_put(&line.text, "ignored: ");
    hew_text_put(&line.text, option->name);
    if (is_taken_whole(option)) {
        put_fault(&line.text, option, fault);
    } else {
        hew_text_put(&line.text, " takes ");
        put_expected(&line.text, option);
    }
    if (hew_conf_value_size(option) > sizeof(bool) && option->kind != HEW_KIND_PERCENT && has_unit(pair)) {
        hew_text_put(&line.text, "; write it without a unit");
    }
    line_say(&line, parser);
    parser->bad += !name_is_experimental(pair);
}

static void
say_adjusted(struct conf_parser *parser, const struct conf_pair *pair, const struct hew_option *option,
             enum hew_conf_result result)
{
    struct conf_line line;

    line_begin_with_pair(&line, parser, pair);
    if (option->kind == HEW_KIND_LETTERS) {
        hew_text_put(&line.text, "taken without the letters that are none of " HEW_CONF_LETTERS);
    } else if (result == HEW_CONF_CUT) {
        hew_text_put(&line.text, "cut to its first bytes, ");
        hew_text_put_unsigned(&line.text, option->high - 1);
    } else {
        hew_text_put(&line.text, option->kind == HEW_KIND_RANGES ? "taken with a number brought to " : "taken as ");
        put_number(&line.text, option, result == HEW_CONF_CLIPPED_TO_LOW);
        hew_text_put(&line.text, result == HEW_CONF_CLIPPED_TO_LOW ? ", the least allowed" : ", the most allowed");
    }
    line_say(&line, parser);
}

static void
say_about_pair(struct conf_parser *parser, const struct conf_pair *pair, const char *what)
{
    struct conf_line line;

    line_begin_with_pair(&line, parser, pair);
    hew_text_put(&line.text, what);
    line_say(&line, parser);
}

static void
say_unknown(struct conf_parser *parser, const struct conf_pair *pair)
{
    struct conf_line line;
    const char *nearest = hew_conf_name_nearest(pair->name, pair->name_length);

    line_begin(&line, parser);
    hew_text_put(&line.text, "unknown setting \"");
    put_shown(&line.text, pair->name, pair->name_length);
    if (nearest != NULL) {
        hew_text_put(&line.text, "\": did you mean \"");
        hew_text_put(&line.text, nearest);
        hew_text_put(&line.text, "\"?");
    } else {
        hew_text_put(&line.text, "\", ignored");
    }
    line_say(&line, parser);
    parser->bad += !name_is_experimental(pair);
}

static void
say_malformed(struct conf_parser *parser, const struct conf_pair *pair, const char *at)
{
    struct conf_line line;

    line_begin(&line, parser);
    if (*at == '\0') {
        hew_text_put(&line.text, "ends after \"");
        put_shown(&line.text, pair->name, pair->name_length);
        hew_text_put(&line.text, "\", without a value: write name:value,name:value");
    } else {
        hew_text_put(&line.text, "unexpected \"");
        put_shown(&line.text, at, 1);
        hew_text_put(&line.text, pair->name_length == 0 ? "\" where a name should stand" : "\" after \"");
        put_shown(&line.text, pair->name, pair->name_length);
        hew_text_put(&line.text, pair->name_length == 0 ? "" : "\"");
        hew_text_put(&line.text, ", the rest is ignored: write name:value,name:value");
    }
    line_say(&line, parser);
    parser->bad++;
}

static void
take_option(struct conf_parser *parser, const struct conf_pair *pair, const struct hew_option *option)
{
    struct hew_conf_fault fault = fault_of(option, pair);
    enum hew_conf_result result = fault.what != NULL
                                      ? HEW_CONF_REFUSED
                                      : hew_conf_value_take(parser->options, option, pair->value, pair->value_length);
    if (result == HEW_CONF_REFUSED) {
        say_refused(parser, pair, option, fault);
        return;
    }
    if (result != HEW_CONF_TAKEN) {
        say_adjusted(parser, pair, option, result);
    }
    if (parser->options->confirm_conf) {
        bool works = option->state == HEW_STATE_WORKS;
        say_about_pair(parser, pair, works ? "taken" : "taken, without effect here: docs/options.md says why");
    }
}

static void
take_pair(struct conf_parser *parser, const struct conf_pair *pair)
{
    const struct hew_option *option = hew_conf_name_find(pair->name, pair->name_length);
    const struct hew_old_option *old = option == NULL ? hew_conf_name_find_old(pair->name, pair->name_length) : NULL;

    if (option != NULL) {
        take_option(parser, pair, option);
    } else if (old != NULL) {
        struct conf_line line;
        line_begin_with_pair(&line, parser, pair);
        hew_text_put(&line.text, "ignored, an old name: ");
        hew_text_put(&line.text, old->became);
        line_say(&line, parser);
    } else {
        say_unknown(parser, pair);
    }
}

size_t
hew_conf_parse(struct hew_options *options, const char *text, const char *source_name, hew_conf_warn warn,
               void *context)
{
    struct conf_parser parser = {options, source_name, warn, context, 0};
    struct conf_pair pair;
    struct conf_line line;
    const char *at = text;
    enum conf_step step;

    if (text == NULL) {
        return 0;
    }
    while ((step = next_pair(&at, &pair)) == CONF_PAIR) {
        take_pair(&parser, &pair);
        if (at[0] == ',' && at[1] == '\0') {
            line_begin(&line, &parser);
            hew_text_put(&line.text, "ends with a comma: a setting may be missing");
            line_say(&line, &parser);
            parser.bad++;
        }
        at += *at == ',';
    }
    if (step == CONF_MALFORMED) {
        say_malformed(&parser, &pair, at);
    }
    return parser.bad;
}

bool
hew_conf_read_text(const char *text, const char *name, char *value, size_t capacity)
{
    struct conf_pair pair;
    const char *at = text;
    size_t length = 0;

    while (next_pair(&at, &pair) == CONF_PAIR) {
        if (hew_conf_value_is(pair.name, pair.name_length, name, false)) {
            bool fits = pair.value_length < capacity; /* a longer value is refused, so the previous one stays */
            length = fits ? pair.value_length : length;
            memcpy(value, fits ? pair.value : value, length);
        }
        at += *at == ',';
    }
    value[length] = '\0';
    return length != 0;
}

void
hew_conf_read_bool(const char *text, const char *name, bool *value)
{
    struct conf_pair pair;
    const char *at = text;

    while (at != NULL && next_pair(&at, &pair) == CONF_PAIR) {
        if (hew_conf_value_is(pair.name, pair.name_length, name, false)) {
            bool yes = hew_conf_value_is(pair.value, pair.value_length, "true", false);
            bool no = hew_conf_value_is(pair.value, pair.value_length, "false", false);
            *value = yes || (*value && !no);
        }
        at += *at == ',';
    }
}

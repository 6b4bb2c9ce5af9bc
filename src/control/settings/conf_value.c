/* SPDX-License-Identifier: MIT */
/* conf_value: see conf_value.h. */
#include "control/settings/conf_value.h"

#include "control/settings/conf_number.h"

#include <string.h>

bool
hew_conf_value_is(const char *value, size_t length, const char *word, bool beginning)
{
    size_t whole = strlen(word);

    return (length == whole || (beginning && length > 0 && length < whole)) && memcmp(value, word, length) == 0;
}

size_t
hew_conf_value_size(const struct hew_option *option)
{
    switch (option->kind) {
    case HEW_KIND_BOOL:
        return sizeof(bool);
    case HEW_KIND_UNSIGNED:
    case HEW_KIND_PERCENT:
    case HEW_KIND_COUNT:
    case HEW_KIND_CHOICE:
        return sizeof(unsigned);
    case HEW_KIND_TEXT:
    case HEW_KIND_LETTERS:
    case HEW_KIND_POOLS:
    case HEW_KIND_CLASSES:
    case HEW_KIND_FILE:
    case HEW_KIND_RANGES:
        return 0;
    default:
        return sizeof(uint64_t);
    }
}

_Static_assert(sizeof(size_t) == sizeof(uint64_t) && sizeof(ssize_t) == sizeof(int64_t) &&
                   sizeof(hew_fixed) == sizeof(int64_t),
               "numbers are stored as 64 bits or as unsigned");

/* Clamps *value to low .. high if the option's rule permits it. */
static enum hew_conf_result
fit_unsigned(const struct hew_option *option, uint64_t *value)
{
    if (*value > option->high) {
        *value = option->high;
        return option->rule == HEW_RULE_REJECT ? HEW_CONF_REFUSED : HEW_CONF_CLIPPED_TO_HIGH;
    }
    if (option->low > 0 && *value < (uint64_t)option->low) {
        *value = (uint64_t)option->low;
        return option->rule == HEW_RULE_CLIP ? HEW_CONF_CLIPPED_TO_LOW : HEW_CONF_REFUSED;
    }
    return HEW_CONF_TAKEN;
}

static enum hew_conf_result
fit_number(const struct hew_option *option, const struct hew_conf_number *number, uint64_t *value)
{
    *value = number->negative ? -number->magnitude : number->magnitude;
    if (option->kind != HEW_KIND_SSIZE && option->kind != HEW_KIND_INT64) {
        return fit_unsigned(option, value);
    }
    if (number->negative && number->magnitude != 0) {
        return option->low < 0 && number->magnitude <= -(uint64_t)option->low ? HEW_CONF_TAKEN : HEW_CONF_REFUSED;
    }
    return fit_unsigned(option, value);
}

/* A percent sign may follow a number in percent. */
static size_t
length_without_sign(const struct hew_option *option, const char *value, size_t length)
{
    return option->kind == HEW_KIND_PERCENT && length > 1 && value[length - 1] == '%' ? length - 1 : length;
}

static enum hew_conf_result
take_number(void *field, const struct hew_option *option, const char *value, size_t length)
{
    struct hew_conf_number number;
    uint64_t wide = 0;
    unsigned narrow;
    enum hew_conf_result result = HEW_CONF_TAKEN;

    length = length_without_sign(option, value, length);
    if (option->kind != HEW_KIND_COUNT || !hew_conf_value_is(value, length, "default", false)) {
        if (hew_conf_number_read(value, value + length, &number) != value + length) {
            return HEW_CONF_REFUSED;
        }
        result = fit_number(option, &number, &wide);
    }
    if (result == HEW_CONF_REFUSED) {
        return result;
    }
    if (option->kind == HEW_KIND_LOG2) {
        wide = (uint64_t)1 << wide;
    }
    narrow = (unsigned)wide;
    if (hew_conf_value_size(option) == sizeof(narrow)) {
        memcpy(field, &narrow, sizeof(narrow));
    } else {
        memcpy(field, &wide, sizeof(wide));
    }
    return result;
}

/* digits, digits.digits or .digits; -1 if the range includes it.  Digits after the third decimal are ignored. */
static enum hew_conf_result
take_fixed(hew_fixed *field, const struct hew_option *option, const char *value, size_t length)
{
    const char *end = value + length;
    uint64_t whole = 0, fraction = 0;
    const char *cursor = hew_conf_number_digits(value, end, 10, &whole);
    bool digits = cursor > value;

    if (option->low < 0 && hew_conf_value_is(value, length, "-1", false)) {
        field->thousandths = -1000;
        return HEW_CONF_TAKEN;
    }
    if (cursor < end && *cursor == '.') {
        cursor++;
        for (unsigned unit = 100; cursor < end && *cursor >= '0' && *cursor <= '9'; cursor++, unit /= 10) {
            fraction += (unsigned)(*cursor - '0') * unit;
            digits = true;
        }
    }
    if (!digits || cursor != end || whole > option->high / 1000 || whole * 1000 + fraction > option->high) {
        return HEW_CONF_REFUSED;
    }
    field->thousandths = (int64_t)(whole * 1000 + fraction);
    return HEW_CONF_TAKEN;
}

static enum hew_conf_result
take_bool(bool *field, const char *value, size_t length)
{
    bool yes = hew_conf_value_is(value, length, "true", false);

    if (!yes && !hew_conf_value_is(value, length, "false", false)) {
        return HEW_CONF_REFUSED;
    }
    *field = yes;
    return HEW_CONF_TAKEN;
}

static enum hew_conf_result
take_choice(void *field, const struct hew_option *option, const char *value, size_t length)
{
    const char *const *words = hew_option_words(option);

    for (unsigned i = 0; words[i] != NULL; i++) {
        if (hew_conf_value_is(value, length, words[i], option->rule != HEW_RULE_EXACT)) {
            memcpy(field, &i, sizeof(i));
            return HEW_CONF_TAKEN;
        }
    }
    return HEW_CONF_REFUSED;
}

static enum hew_conf_result
take_text(char *field, const struct hew_option *option, const char *value, size_t length)
{
    size_t taken = length < option->high ? length : option->high - 1;

    memcpy(field, value, taken);
    field[taken] = '\0';
    return taken == length ? HEW_CONF_TAKEN : HEW_CONF_CUT;
}

/* conf.c has checked for faults: half of a declaration, or of a path, would mean something else. */
static enum hew_conf_result
take_whole(char *field, const struct hew_option *option, const char *value, size_t length)
{
    return length < option->high ? take_text(field, option, value, length) : HEW_CONF_REFUSED;
}

/* Each letter is stored once; the buffer fits all letters. */
static enum hew_conf_result
take_letters(char *field, const char *value, size_t length)
{
    size_t taken = 0;
    bool unknown = false;

    for (size_t i = 0; i < length; i++) {
        if (memchr(HEW_CONF_LETTERS, value[i], sizeof(HEW_CONF_LETTERS) - 1) == NULL) {
            unknown = true;
        } else if (memchr(field, value[i], taken) == NULL) {
            field[taken++] = value[i];
        }
    }
    field[taken] = '\0';
    return unknown ? HEW_CONF_CUT : HEW_CONF_TAKEN;
}

/* Reads a number that `stop` must follow; NULL when it does not. */
static const char *
read_number_before(const char *at, const char *end, char stop, size_t *value)
{
    struct hew_conf_number number;
    const char *past = hew_conf_number_read(at, end, &number);

    if (past == NULL || past == end || *past != stop || number.negative) {
        return NULL;
    }
    *value = number.magnitude;
    return past + 1;
}

/* low-high:number; returns its end, NULL when it is malformed. */
static const char *
read_range(const char *at, const char *end, struct hew_option_range *range)
{
    struct hew_conf_number number;

    at = read_number_before(at, end, '-', &range->low);
    at = at == NULL ? NULL : read_number_before(at, end, ':', &range->high);
    at = at == NULL ? NULL : hew_conf_number_read(at, end, &number);
    if (at == NULL || number.negative || range->low > range->high) {
        return NULL;
    }
    range->value = number.magnitude;
    return at;
}

static enum hew_conf_result
take_ranges(struct hew_option_ranges *field, const struct hew_option *option, const char *value, size_t length)
{
    const char *at = value, *end = value + length;
    struct hew_option_ranges ranges = {.count = 0};
    enum hew_conf_result result = HEW_CONF_TAKEN, one;

    if (hew_conf_value_is(value, length, "default", false)) {
        *field = ranges;
        return HEW_CONF_TAKEN;
    }
    for (;;) {
        struct hew_option_range *range = &ranges.at[ranges.count];
        at = ranges.count == HEW_OPTION_RANGES_MAX ? NULL : read_range(at, end, range);
        one = at == NULL ? HEW_CONF_REFUSED : fit_unsigned(option, &range->value);
        if (one == HEW_CONF_REFUSED || (at != end && *at != '|')) {
            return HEW_CONF_REFUSED;
        }
        result = one == HEW_CONF_TAKEN ? result : one;
        ranges.count++;
        if (at == end) {
            *field = ranges;
            return result;
        }
        at++;
    }
}

enum hew_conf_result
hew_conf_value_take(struct hew_options *options, const struct hew_option *option, const char *value, size_t length)
{
    char *field = (char *)options + option->offset;

    switch (option->kind) {
    case HEW_KIND_BOOL:
        return take_bool((bool *)field, value, length);
    case HEW_KIND_CHOICE:
        return take_choice(field, option, value, length);
    case HEW_KIND_FIXED:
        return take_fixed((hew_fixed *)field, option, value, length);
    case HEW_KIND_TEXT:
        return take_text(field, option, value, length);
    case HEW_KIND_LETTERS:
        return take_letters(field, value, length);
    case HEW_KIND_POOLS:
    case HEW_KIND_FILE:
        return take_whole(field, option, value, length);
    case HEW_KIND_CLASSES:
        return take_whole(field, option, value, hew_conf_value_is(value, length, "default", false) ? 0 : length);
    case HEW_KIND_RANGES:
        return take_ranges((struct hew_option_ranges *)field, option, value, length);
    default:
        return take_number(field, option, value, length);
    }
}

/* SPDX-License-Identifier: MIT */
/* options: see options.h.  Defines the tables from options.def and option_choices.def, and checks the ranges. */
#include "base/options.h"

#include <string.h>

struct hew_options hew_options = {
#define HEW_OPTION(name, kind, initial, low, high, rule, tier, state, what, remark) .name = initial,
#define HEW_LOG2_OPTION(name, target, low, high, rule, tier, state, what, remark)
#define HEW_OLD_OPTION(name, became)
#include "base/options.def"
};

const struct hew_option hew_option_table[] = {
#define HEW_OPTION(name, kind, initial, low, high, rule, tier, state, what, remark)                                    \
    {#name, offsetof(struct hew_options, name), HEW_KIND_##kind, HEW_RULE_##rule, HEW_STATE_##state, low, high},
#define HEW_LOG2_OPTION(name, target, low, high, rule, tier, state, what, remark)                                      \
    {#name, offsetof(struct hew_options, target), HEW_KIND_LOG2, HEW_RULE_##rule, HEW_STATE_##state, low, high},
#define HEW_OLD_OPTION(name, became)
#include "base/options.def"
    {.name = ""},
};

const struct hew_old_option hew_old_option_table[] = {
#define HEW_OPTION(name, kind, initial, low, high, rule, tier, state, what, remark)
#define HEW_LOG2_OPTION(name, target, low, high, rule, tier, state, what, remark)
#define HEW_OLD_OPTION(name, became) {#name, became},
#include "base/options.def"
    {NULL, NULL},
};

_Static_assert(sizeof(struct hew_options) <= UINT16_MAX, "offsets in hew_option_table are 16 bits wide");
_Static_assert(sizeof(enum hew_dss) == sizeof(unsigned), "choices are read and written as unsigned");

#define HEW_CHOICES(option) static const char *const words_of_##option[] = {
#define HEW_CHOICE(constant, word) word,
#define HEW_CHOICES_END(option)                                                                                        \
    NULL                                                                                                               \
    }                                                                                                                  \
    ;
#include "base/option_choices.def"

static const struct {
    const char *option;
    const char *const *words;
} option_words[] = {
#define HEW_CHOICES(option) {#option, words_of_##option},
#define HEW_CHOICE(constant, word)
#define HEW_CHOICES_END(option)
#include "base/option_choices.def"
};

const char *const *
hew_option_words(const struct hew_option *option)
{
    for (size_t i = 0; i < sizeof(option_words) / sizeof(option_words[0]); i++) {
        if (option->kind == HEW_KIND_CHOICE && strcmp(option->name, option_words[i].option) == 0) {
            return option_words[i].words;
        }
    }
    return NULL;
}

/* `value` may be a signed number seen as unsigned: a negative one is compared only with `low`. */
static bool
option_in_range(const struct hew_option *option, uint64_t value, bool is_signed)
{
    if (is_signed && (int64_t)value < 0) {
        return (int64_t)value >= option->low;
    }
    return (option->low <= 0 || value >= (uint64_t)option->low) && value <= option->high;
}

static bool
option_ranges_valid(const struct hew_option *option, const struct hew_option_ranges *ranges)
{
    if (ranges->count > HEW_OPTION_RANGES_MAX) {
        return false;
    }
    for (unsigned i = 0; i < ranges->count; i++) {
        const struct hew_option_range *range = &ranges->at[i];
        if (range->low > range->high || !option_in_range(option, range->value, false)) {
            return false;
        }
    }
    return true;
}

static bool
option_valid(const struct hew_option *option, const void *field)
{
    switch (option->kind) {
    case HEW_KIND_BOOL:
        return *(const unsigned char *)field <= 1;
    case HEW_KIND_COUNT:
        return *(const unsigned *)field == 0 || option_in_range(option, *(const unsigned *)field, false);
    case HEW_KIND_UNSIGNED:
    case HEW_KIND_PERCENT:
    case HEW_KIND_CHOICE:
        return option_in_range(option, *(const unsigned *)field, false);
    case HEW_KIND_SIZE:
        return option_in_range(option, *(const size_t *)field, false);
    case HEW_KIND_UINT64:
        return option_in_range(option, *(const uint64_t *)field, false);
    case HEW_KIND_SSIZE:
        return option_in_range(option, (uint64_t)*(const ssize_t *)field, true);
    case HEW_KIND_INT64:
    case HEW_KIND_FIXED:
        return option_in_range(option, (uint64_t)*(const int64_t *)field, true);
    case HEW_KIND_TEXT:
    case HEW_KIND_LETTERS:
    case HEW_KIND_POOLS:
    case HEW_KIND_CLASSES:
    case HEW_KIND_FILE:
        return memchr(field, '\0', option->high) != NULL;
    case HEW_KIND_RANGES:
        return option_ranges_valid(option, field);
    default: /* LOG2 has no field of its own. */
        return true;
    }
}

bool
hew_options_valid(const struct hew_options *options)
{
    for (const struct hew_option *option = hew_option_table; option->name[0] != '\0'; option++) {
        if (!option_valid(option, (const char *)options + option->offset)) {
            return false;
        }
    }
    return true;
}

/* SPDX-License-Identifier: MIT */
/*
 * options: the settings of MALLOC_CONF as plain data.
 *
 * Owns      `hew_options`, the current settings.  The parser (control/settings/conf.c) writes them before the first
 *           allocation.  They are sealed after boot, so reads need no lock.
 * Promises  Before parsing, each option has its default.  Each number is in the range of its row.
 * Not here  The text syntax and its messages: control/settings/conf.c.  The sources of the text:
 *           control/settings/conf_sources.c.
 * Why       Every layer reads options, so they are at the bottom.  One row of options.def contains everything about an
 *           option.
 */
#ifndef HEW_BASE_OPTIONS_H
#define HEW_BASE_OPTIONS_H

#include "base/compiler.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* mallctl's index 4096 means all arenas.  One index below it is reserved for the arena of oversize requests. */
#define HEW_OPTION_ARENAS_MAX 4094

/* 7 * 2^60, the largest size class below PTRDIFF_MAX. */
#define HEW_OPTION_CLASS_MAX 0x7000000000000000

/* The parser refuses more ranges than this.  Real settings use at most four. */
#define HEW_OPTION_RANGES_MAX 16

#define HEW_OPTION_NAME_BYTES 42

/* A decimal number such as 0.25, with three digits after the point. */
typedef struct {
    int64_t thousandths;
} hew_fixed;

/* Sizes from `low` to `high`, in bytes, both included, and their value. */
struct hew_option_range {
    size_t low;
    size_t high;
    size_t value;
};

struct hew_option_ranges {
    unsigned count;
    struct hew_option_range at[HEW_OPTION_RANGES_MAX];
};

/* enum hew_dss { HEW_DSS_DISABLED, ... }; and so on. */
#define HEW_CHOICES(option)                                                                                            \
    enum hew_##option                                                                                                  \
    {
#define HEW_CHOICE(constant, word) constant,
#define HEW_CHOICES_END(option)                                                                                        \
    }                                                                                                                  \
    ;
#include "base/option_choices.def"

#define HEW_FIELD_BOOL(name, high) bool name;
#define HEW_FIELD_UNSIGNED(name, high) unsigned name;
#define HEW_FIELD_PERCENT(name, high) unsigned name;
#define HEW_FIELD_COUNT(name, high) unsigned name;
#define HEW_FIELD_SIZE(name, high) size_t name;
#define HEW_FIELD_SSIZE(name, high) ssize_t name;
#define HEW_FIELD_INT64(name, high) int64_t name;
#define HEW_FIELD_UINT64(name, high) uint64_t name;
#define HEW_FIELD_FIXED(name, high) hew_fixed name;
#define HEW_FIELD_CHOICE(name, high) enum hew_##name name;
#define HEW_FIELD_TEXT(name, high) char name[high];
#define HEW_FIELD_LETTERS(name, high) char name[high];
#define HEW_FIELD_POOLS(name, high) char name[high];
#define HEW_FIELD_CLASSES(name, high) char name[high];
#define HEW_FIELD_FILE(name, high) char name[high];
#define HEW_FIELD_RANGES(name, high) struct hew_option_ranges name;

/* One field per option, with the option's name: hew_options.dirty_decay_ms, hew_options.dss == HEW_DSS_PRIMARY. */
struct hew_options {
#define HEW_OPTION(name, kind, initial, low, high, rule, tier, state, what, remark) HEW_FIELD_##kind(name, high)
#define HEW_LOG2_OPTION(name, target, low, high, rule, tier, state, what, remark)
#define HEW_OLD_OPTION(name, became)
#include "base/options.def"
};

extern __attribute__((visibility("hidden"))) struct hew_options hew_options;

/* An option as the parser and the reports see it: its row of options.def without the prose. */
enum hew_option_kind {
    HEW_KIND_BOOL,
    HEW_KIND_UNSIGNED,
    HEW_KIND_PERCENT,
    HEW_KIND_COUNT,
    HEW_KIND_SIZE,
    HEW_KIND_SSIZE,
    HEW_KIND_INT64,
    HEW_KIND_UINT64,
    HEW_KIND_FIXED,
    HEW_KIND_LOG2,
    HEW_KIND_CHOICE,
    HEW_KIND_TEXT,
    HEW_KIND_LETTERS,
    HEW_KIND_POOLS,
    HEW_KIND_CLASSES,
    HEW_KIND_FILE,
    HEW_KIND_RANGES,
};

enum hew_option_rule {
    HEW_RULE_REJECT,
    HEW_RULE_CLIP,
    HEW_RULE_CLIP_HIGH,
    HEW_RULE_EXACT,
    HEW_RULE_PREFIX,
    HEW_RULE_PREFIX_NAME,
};

enum hew_option_state {
    HEW_STATE_WORKS,
    HEW_STATE_ACCEPTED,
};

/* The struct contains the name instead of a pointer: the loader would relocate pointers in each process, in private
 * pages. */
struct hew_option {
    char name[HEW_OPTION_NAME_BYTES];
    uint16_t offset; /* of the field in struct hew_options; of the target's for LOG2 */
    uint8_t kind;
    uint8_t rule;
    uint8_t state;
    int64_t low;
    uint64_t high;
};

struct hew_old_option {
    const char *name;
    const char *became;
};

/* The tables, in the order of options.def.  The first ends with an empty name, the second with a NULL name. */
extern const struct hew_option hew_option_table[];
extern const struct hew_old_option hew_old_option_table[];

/* Returns the words of a CHOICE option, terminated by NULL; NULL for any other option. */
const char *const *hew_option_words(const struct hew_option *option);

/* Returns true if every option of the struct is in its range. */
bool hew_options_valid(const struct hew_options *options);

#endif

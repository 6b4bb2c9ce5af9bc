/* SPDX-License-Identifier: MIT */
/*
 * ctl_opt: opt.*, the current settings, read from their table; and opt.malloc_conf.*, their source texts.
 */
#include "base/options.h"
#include "control/mallctl/ctl_names_macros.h"
#include "control/mallctl/ctl_value.h"
#include "control/settings/conf_sources.h"
#include "slab/arena.h"

#include <errno.h>

/* 16.16 fixed point, as programs expect it; all ones is -1, "no limit". */
static uint32_t
fixed_point(int64_t thousandths)
{
    return thousandths < 0 ? UINT32_MAX : (uint32_t)(((uint64_t)thousandths << 16) / 1000);
}

/* A number of any kind in 64 bits; hew_ctl_read_number() truncates it to the row's width. */
static uint64_t
number_of(const struct hew_option *option, const void *field)
{
    switch (option->kind) {
    case HEW_KIND_BOOL:
        return *(const bool *)field;
    case HEW_KIND_UNSIGNED:
    case HEW_KIND_PERCENT:
        return *(const unsigned *)field;
    case HEW_KIND_COUNT:
        return *(const unsigned *)field == 0 ? hew_arena_limit() : *(const unsigned *)field;
    case HEW_KIND_FIXED:
        return fixed_point(((const hew_fixed *)field)->thousandths);
    default:
        return *(const uint64_t *)field;
    }
}

int
hew_ctl_opt(const struct hew_ctl_call *call)
{
    const struct hew_option *option = &hew_option_table[call->row->field];
    const void *field = (const char *)&hew_options + option->offset;
    if (option->kind == HEW_KIND_CHOICE) {
        return hew_ctl_read_pointer(call, hew_option_words(option)[*(const unsigned *)field]);
    }
    if (option->kind == HEW_KIND_TEXT || option->kind == HEW_KIND_LETTERS || option->kind == HEW_KIND_POOLS ||
        option->kind == HEW_KIND_CLASSES || option->kind == HEW_KIND_FILE) {
        return hew_ctl_read_pointer(call, field);
    }
    return hew_ctl_read_number(call, number_of(option, field));
}

int
hew_ctl_opt_conf(const struct hew_ctl_call *call)
{
    const char *texts[] = {
        [HEW_CTL_CONF_LINK] = hew_conf_applied.link,
        [HEW_CTL_CONF_ENVIRONMENT] = hew_conf_applied.environment,
        [HEW_CTL_CONF_VARIABLE] = hew_conf_applied.variable,
        [HEW_CTL_CONF_HARDER] = hew_conf_applied.harder,
    };
    const char *text = texts[call->row->field];
    return text == NULL ? ENOENT : hew_ctl_read_pointer(call, text);
}

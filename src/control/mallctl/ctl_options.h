/* SPDX-License-Identifier: MIT */
/*
 * ctl_options: indices of the settings in hew_option_table, and of the sources of settings.
 */
#ifndef HEW_CONTROL_MALLCTL_CTL_OPTIONS_H
#define HEW_CONTROL_MALLCTL_CTL_OPTIONS_H

enum {
#define HEW_OPTION(name, kind, initial, low, high, rule, tier, state, what, remark) HEW_CTL_OPTION_##name,
#define HEW_LOG2_OPTION(name, target, low, high, rule, tier, state, what, remark) HEW_CTL_OPTION_##name,
#define HEW_OLD_OPTION(name, became)
#include "base/options.def"
};

/* The field of opt.malloc_conf.*. */
enum { HEW_CTL_CONF_LINK, HEW_CTL_CONF_ENVIRONMENT, HEW_CTL_CONF_VARIABLE, HEW_CTL_CONF_HARDER };

#endif

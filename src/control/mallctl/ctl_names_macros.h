/* SPDX-License-Identifier: MIT */
/*
 * ctl_names_macros: shorthands for rows of ctl_names.def.
 */
#ifndef HEW_CONTROL_MALLCTL_CTL_NAMES_MACROS_H
#define HEW_CONTROL_MALLCTL_CTL_NAMES_MACROS_H

#include "base/size_class.h"
#include "control/mallctl/ctl_options.h"
#include "prof/profiler.h"
#include "stats/fields.h"

/* The field of decay leaves. */
enum { HEW_CTL_DIRTY, HEW_CTL_MUZZY };

/* The field of stats.background_thread.*. */
enum { HEW_CTL_STATS_THREADS, HEW_CTL_STATS_RUNS, HEW_CTL_STATS_INTERVAL };

/* Used by scripts/pages/mallctl.py only. */
#ifndef HEW_CTL_ABOUT
#define HEW_CTL_ABOUT(what)
#endif

/* A setting of options.def: the field is its row index there. */
#define HEW_CTL_OPTION(name, type)                                                                                     \
    HEW_CTL_ABOUT("the setting `" #name "` of [options.md](options.md)")                                               \
    HEW_CTL("opt." #name, type, READ, hew_ctl_opt, HEW_CTL_OPTION_##name)

#endif

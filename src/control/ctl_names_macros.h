/* SPDX-License-Identifier: MIT */
/*
 * ctl_names_macros: what stands for several rows, or for a longer one, in ctl_names.def.
 */
#ifndef HEW_CONTROL_CTL_NAMES_MACROS_H
#define HEW_CONTROL_CTL_NAMES_MACROS_H

#include "base/size_class.h"
#include "control/ctl_options.h"

/* The field of decay leaves. */
enum { HEW_CTL_DIRTY, HEW_CTL_MUZZY };

/* The counters of a lock; the low three bits of the field tell which. */
enum {
    HEW_CTL_MUTEX_OPS,
    HEW_CTL_MUTEX_WAIT,
    HEW_CTL_MUTEX_SPIN,
    HEW_CTL_MUTEX_SWITCH,
    HEW_CTL_MUTEX_TOTAL,
    HEW_CTL_MUTEX_MAX,
    HEW_CTL_MUTEX_THREADS,
};

#define HEW_CTL_MUTEX(name, leaf, which)                                                                               \
    HEW_CTL(name ".num_ops", U64, READ, leaf, (which) << 3 | HEW_CTL_MUTEX_OPS)                                     \
    HEW_CTL(name ".num_wait", U64, READ, leaf, (which) << 3 | HEW_CTL_MUTEX_WAIT)                                   \
    HEW_CTL(name ".num_spin_acq", U64, READ, leaf, (which) << 3 | HEW_CTL_MUTEX_SPIN)                               \
    HEW_CTL(name ".num_owner_switch", U64, READ, leaf, (which) << 3 | HEW_CTL_MUTEX_SWITCH)                         \
    HEW_CTL(name ".total_wait_time", U64, READ, leaf, (which) << 3 | HEW_CTL_MUTEX_TOTAL)                           \
    HEW_CTL(name ".max_wait_time", U64, READ, leaf, (which) << 3 | HEW_CTL_MUTEX_MAX)                               \
    HEW_CTL(name ".max_num_thds", U32, READ, leaf, (which) << 3 | HEW_CTL_MUTEX_THREADS)

/* A setting of options.def: the field is its row there. */
#define HEW_CTL_OPTION(name, type) HEW_CTL("opt." #name, type, READ, hew_ctl_opt, HEW_CTL_OPTION_##name)

#endif

/* SPDX-License-Identifier: MIT */
/* ctl_root: the leaves without a subtree, and those that never change. */
#include "control/conf_sources.h"
#include "control/ctl_value.h"

int
hew_ctl_constant(const struct hew_ctl_call *call)
{
    return hew_ctl_read_number(call, call->row->field);
}

int
hew_ctl_version(const struct hew_ctl_call *call)
{
    return hew_ctl_read_pointer(call, "5.3.1-0-g0000000000000000000000000000000000686577");
}

int
hew_ctl_config_malloc_conf(const struct hew_ctl_call *call)
{
    return hew_ctl_read_pointer(call, HEW_MALLOC_CONF);
}

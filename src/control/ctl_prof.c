/* SPDX-License-Identifier: MIT */
/* ctl_prof: the leaves of prof.*, thread.prof.* and the hooks of profiles. */
#include "control/ctl_value.h"
#include "base/size_class.h"

#include <errno.h>

int
hew_ctl_prof_absent(const struct hew_ctl_call *call)
{
    return ENOENT;
}

int
hew_ctl_prof_bin_index(const struct hew_ctl_call *call)
{
    return call->mib[call->depth - 1] < HEW_CODE_SMALL_LAST ? 0 : ENOENT;
}

int
hew_ctl_prof_lextent_index(const struct hew_ctl_call *call)
{
    return call->mib[call->depth - 1] < HEW_CLASSES_LARGE ? 0 : ENOENT;
}

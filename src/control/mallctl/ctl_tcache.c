/* SPDX-License-Identifier: MIT */
/*
 * ctl_tcache: tcache.*, caches that a program creates explicitly.
 */
#include "cache/explicit.h"
#include "control/mallctl/ctl_value.h"

#include <errno.h>

int
hew_ctl_tcache_create(const struct hew_ctl_call *call)
{
    unsigned number;
    int error = hew_ctl_must_read(call, sizeof number);
    if (error != 0) {
        return error;
    }
    return hew_explicit_create(&number) ? hew_ctl_read_unsigned(call, number) : EAGAIN;
}

static int
with_number(const struct hew_ctl_call *call, bool (*act)(unsigned number))
{
    unsigned number;
    int error = hew_ctl_must_write(call, &number, sizeof number);
    if (error != 0) {
        return error;
    }
    return act(number) ? 0 : EFAULT;
}

int
hew_ctl_tcache_flush(const struct hew_ctl_call *call)
{
    return with_number(call, hew_explicit_flush);
}

int
hew_ctl_tcache_destroy(const struct hew_ctl_call *call)
{
    return with_number(call, hew_explicit_destroy);
}

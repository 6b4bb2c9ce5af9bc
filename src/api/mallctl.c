/* SPDX-License-Identifier: MIT */
/*
 * mallctl: exports the functions of control/mallctl/ctl.c, and statistics on request.  mallctl and its kin return errors
 * as their result; errno stays unchanged.
 */
#include "api/boot.h"
#include "api/messages.h"
#include "api/stats_due.h"
#include "base/size_class.h"
#include "control/mallctl/ctl.h"

int mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length);
int mallctlnametomib(const char *name, size_t *mib, size_t *depth);
int mallctlbymib(const size_t *mib, size_t depth, void *old, size_t *old_length, void *new, size_t new_length);

/* A program may call these functions before it allocates. */
static void
start(void)
{
    if (HEW_UNLIKELY(!hew_is_booted())) {
        hew_boot();
    }
}

HEW_EXPORT int
mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length)
{
    start();
    return hew_ctl_by_name(name, old, old_length, new, new_length);
}

HEW_EXPORT int
mallctlnametomib(const char *name, size_t *mib, size_t *depth)
{
    start();
    return hew_ctl_to_mib(name, mib, depth);
}

HEW_EXPORT int
mallctlbymib(const size_t *mib, size_t depth, void *old, size_t *old_length, void *new, size_t new_length)
{
    start();
    struct hew_ctl_call call = {mib, depth, old, old_length, new, new_length, NULL};
    return hew_ctl_by_mib(&call);
}

HEW_EXPORT void
malloc_stats_print(void (*write)(void *context, const char *piece), void *context, const char *letters)
{
    start();
    hew_stats_print(write == NULL ? hew_messages_pass : write, context, letters);
}

/* SPDX-License-Identifier: MIT */
/*
 * stats: the exported way to the statistics.  When they come by themselves: stats_due.c.
 */
#include "api/boot.h"
#include "api/messages.h"
#include "api/stats_due.h"
#include "base/size_class.h"

HEW_EXPORT void
malloc_stats_print(void (*write)(void *context, const char *piece), void *context, const char *letters)
{
    if (HEW_UNLIKELY(!hew_is_booted())) { /* a program may ask before it allocates */
        hew_boot();
    }
    hew_stats_print(write == NULL ? hew_messages_pass : write, context, letters);
}

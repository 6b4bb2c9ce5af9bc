/* SPDX-License-Identifier: MIT */
/*
 * stats: exports the statistics.  stats_due.c prints them automatically.
 */
#include "api/boot.h"
#include "api/messages.h"
#include "api/stats_due.h"
#include "base/size_class.h"

HEW_EXPORT void
malloc_stats_print(void (*write)(void *context, const char *piece), void *context, const char *letters)
{
    if (HEW_UNLIKELY(!hew_is_booted())) { /* a program may call this before it allocates */
        hew_boot();
    }
    hew_stats_print(write == NULL ? hew_messages_pass : write, context, letters);
}

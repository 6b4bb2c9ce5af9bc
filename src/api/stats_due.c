/* SPDX-License-Identifier: MIT */
#include "api/stats_due.h"

#include "api/messages.h"
#include "base/options.h"
#include "cache/count.h"
#include "control/mallctl/report_general.h"

#include <stdlib.h>

/* A thread reports its allocated bytes after this part of the interval, but at the latest after TELL_BYTES. */
#define TELLS_IN_INTERVAL 64
#define TELL_BYTES ((uint64_t)4 << 20)

static _Atomic uint64_t allocated; /* since the last print, as far as threads have reported */
static _Atomic bool printing;      /* malloc_message may allocate so much that the next report is due */

void
hew_stats_print(void (*write)(void *context, const char *piece), void *context, const char *letters)
{
    hew_report_print(&(struct hew_report_order){write, context, letters, hew_report_general});
}

static void
print_at_exit(void)
{
    hew_stats_print(hew_messages_pass, NULL, hew_options.stats_print_opts);
}

void
hew_stats_begin(void)
{
    if (hew_options.stats_print) {
        atexit(print_at_exit);
    }
    if (hew_options.stats_interval >= 0) {
        uint64_t tell = (uint64_t)hew_options.stats_interval / TELLS_IN_INTERVAL;
        hew_count_watch(tell == 0 ? 1 : tell > TELL_BYTES ? TELL_BYTES : tell);
    }
}

void
hew_stats_passed(uint64_t bytes)
{
    if (hew_options.stats_interval < 0) {
        return;
    }
    uint64_t interval = (uint64_t)hew_options.stats_interval;
    uint64_t now = atomic_fetch_add_explicit(&allocated, bytes, memory_order_relaxed) + bytes;
    bool idle = false;
    if (now >= interval && atomic_compare_exchange_strong(&printing, &idle, true)) {
        uint64_t rest = interval == 0 ? 0 : now % interval;
        atomic_fetch_sub_explicit(&allocated, now - rest, memory_order_relaxed);
        hew_stats_print(hew_messages_pass, NULL, hew_options.stats_interval_opts);
        atomic_store(&printing, false);
    }
}

void
hew_stats_after_fork(void)
{
    atomic_store(&printing, false);
}

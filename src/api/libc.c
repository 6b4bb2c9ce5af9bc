/* SPDX-License-Identifier: MIT */
/*
 * libc: glibc's malloc functions beyond the standard, answered by hew.
 */
#include "api/messages.h"
#include "base/text.h"
#include "control/purger.h"
#include "control/totals.h"
#include "os/clock.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>

/* Returns what is free now; 1 when memory went back.  `pad` has no meaning here. */
HEW_EXPORT int
malloc_trim(size_t pad)
{
    uint64_t before = hew_totals_read().purged;
    hew_purger_round(hew_clock_ms(), true);
    return hew_totals_read().purged != before;
}

/* Accepted and without effect: these parameters describe glibc's machinery.  1 = success, as there. */
HEW_EXPORT int
mallopt(int parameter, int value)
{
    return 1;
}

HEW_EXPORT struct mallinfo2
mallinfo2(void)
{
    struct hew_totals totals = hew_totals_read();
    struct mallinfo2 info = {0};
    info.arena = totals.mapped;
    info.uordblks = totals.allocated - (totals.cached < totals.allocated ? totals.cached : totals.allocated);
    size_t present = totals.active + totals.dirty + totals.muzzy;
    info.fordblks = present > info.uordblks ? present - info.uordblks : 0; /* other threads go on while we add up */
    info.fsmblks = totals.cached;
    info.keepcost = totals.dirty + totals.muzzy;
    return info;
}

static int
clamp(size_t value)
{
    return value > (size_t)__INT_MAX__ ? __INT_MAX__ : (int)value;
}

HEW_EXPORT struct mallinfo
mallinfo(void)
{
    struct mallinfo2 wide = mallinfo2();
    struct mallinfo info = {0};
    info.arena = clamp(wide.arena);
    info.uordblks = clamp(wide.uordblks);
    info.fordblks = clamp(wide.fordblks);
    info.fsmblks = clamp(wide.fsmblks);
    info.keepcost = clamp(wide.keepcost);
    return info;
}

HEW_EXPORT int
malloc_info(int options, FILE *stream)
{
    if (options != 0) {
        errno = EINVAL;
        return -1;
    }
    struct hew_totals totals = hew_totals_read();
    int written = fprintf(stream,
        "<malloc version=\"hew-1\">\n"
        "<total type=\"allocated\" size=\"%zu\"/>\n<total type=\"cached\" size=\"%zu\"/>\n"
        "<total type=\"active\" size=\"%zu\"/>\n<total type=\"dirty\" size=\"%zu\"/>\n"
        "<total type=\"muzzy\" size=\"%zu\"/>\n<total type=\"retained\" size=\"%zu\"/>\n"
        "<system type=\"current\" size=\"%zu\"/>\n<system type=\"metadata\" size=\"%zu\"/>\n"
        "</malloc>\n",
        totals.allocated, totals.cached, totals.active, totals.dirty, totals.muzzy, totals.retained, totals.mapped,
        totals.metadata);
    return written < 0 ? -1 : 0;
}

HEW_EXPORT void
malloc_stats(void)
{
    hew_messages_print_totals();
}

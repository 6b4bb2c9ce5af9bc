/* SPDX-License-Identifier: MIT */
/*
 * libc: glibc's malloc functions beyond the standard.
 */
#include "alloc/pressure.h"
#include "api/stats_due.h"
#include "control/purger.h"
#include "hew/hew.h"
#include "os/clock.h"
#include "slab/arena.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>

/* Returns free memory to the system.  The result is 1 if memory was returned.  `pad` has no meaning here. */
HEW_EXPORT int
malloc_trim(size_t pad)
{
    size_t returned = hew_pressure_return_all();
    hew_purger_round(hew_clock_ms(), true); /* pool sets too */
    return returned != 0;
}

/* Accepted without effect: the parameters describe glibc's internals.  1 means success, as in glibc. */
HEW_EXPORT int
mallopt(int parameter, int value)
{
    return 1;
}

static struct hew_figures
figures_now(void)
{
    struct hew_figures now;
    hew_read_figures(&now, sizeof now);
    return now;
}

HEW_EXPORT struct mallinfo2
mallinfo2(void)
{
    struct hew_figures now = figures_now();
    struct mallinfo2 info = {0};
    size_t idle = now.dirty + now.muzzy, present = now.active + idle;
    info.arena = now.mapped + now.retained;
    info.uordblks = now.allocated - (now.cached < now.allocated ? now.cached : now.allocated);
    info.fordblks = present > info.uordblks ? present - info.uordblks : 0; /* other threads run meanwhile */
    info.fsmblks = now.cached;
    info.keepcost = idle;
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
    struct hew_figures now = figures_now();
    int written =
        fprintf(stream,
                "<malloc version=\"hew-1\">\n"
                "<total type=\"allocated\" size=\"%zu\"/>\n<total type=\"cached\" size=\"%zu\"/>\n"
                "<total type=\"active\" size=\"%zu\"/>\n<total type=\"idle\" size=\"%zu\"/>\n"
                "<total type=\"retained\" size=\"%zu\"/>\n"
                "<system type=\"current\" size=\"%zu\"/>\n<system type=\"metadata\" size=\"%zu\"/>\n"
                "</malloc>\n",
                now.allocated, now.cached, now.active, now.dirty + now.muzzy, now.retained, now.mapped, now.metadata);
    return written < 0 ? -1 : 0;
}

/* Prints a short summary of the process. */
HEW_EXPORT void
malloc_stats(void)
{
    malloc_stats_print(NULL, NULL, "gmdablxeh");
}

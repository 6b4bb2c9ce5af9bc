/* SPDX-License-Identifier: MIT */
/*
 * libc: glibc's malloc functions beyond the standard, answered by hew.
 */
#include "api/stats_due.h"
#include "control/purger.h"
#include "os/clock.h"
#include "stats/snapshot.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>

/* Bytes that have gone back to the system so far. */
static uint64_t
purged_bytes(void)
{
    uint64_t bytes = 0;
    HEW_EACH_ARENA(arena) {
        struct hew_page_counts counts = hew_page_counts(&arena->pages);
        bytes += counts.dirty_purged + counts.muzzy_purged;
    }
    return bytes;
}

/* Returns what is free now; 1 when memory went back.  `pad` has no meaning here. */
HEW_EXPORT int
malloc_trim(size_t pad)
{
    uint64_t before = purged_bytes();
    hew_purger_round(hew_clock_ms(), true);
    return purged_bytes() != before;
}

/* Accepted and without effect: these parameters describe glibc's machinery.  1 = success, as there. */
HEW_EXPORT int
mallopt(int parameter, int value)
{
    return 1;
}

/* The process in a few numbers, in bytes. */
struct summary {
    struct hew_stats_totals totals;
    size_t cached, idle; /* in thread caches; in pages that are free and have their memory */
};

static struct summary
summarize(void)
{
    uint64_t cached = 0, dirty = 0, muzzy = 0;
    hew_stats_take();
    hew_stats_arena_number(HEW_STATS_ALL, offsetof(struct hew_stats_arena, tcache_bytes), &cached);
    hew_stats_arena_number(HEW_STATS_ALL, offsetof(struct hew_stats_arena, pdirty), &dirty);
    hew_stats_arena_number(HEW_STATS_ALL, offsetof(struct hew_stats_arena, pmuzzy), &muzzy);
    return (struct summary){hew_stats_totals(), cached, (dirty + muzzy) * HEW_PAGE};
}

HEW_EXPORT struct mallinfo2
mallinfo2(void)
{
    struct summary now = summarize();
    struct mallinfo2 info = {0};
    info.arena = now.totals.mapped + now.totals.retained;
    info.uordblks = now.totals.allocated - (now.cached < now.totals.allocated ? now.cached : now.totals.allocated);
    size_t present = now.totals.active + now.idle;
    info.fordblks = present > info.uordblks ? present - info.uordblks : 0; /* other threads go on while we add up */
    info.fsmblks = now.cached;
    info.keepcost = now.idle;
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
    struct summary now = summarize();
    int written = fprintf(stream,
        "<malloc version=\"hew-1\">\n"
        "<total type=\"allocated\" size=\"%zu\"/>\n<total type=\"cached\" size=\"%zu\"/>\n"
        "<total type=\"active\" size=\"%zu\"/>\n<total type=\"idle\" size=\"%zu\"/>\n"
        "<total type=\"retained\" size=\"%zu\"/>\n"
        "<system type=\"current\" size=\"%zu\"/>\n<system type=\"metadata\" size=\"%zu\"/>\n"
        "</malloc>\n",
        (size_t)now.totals.allocated, now.cached, (size_t)now.totals.active, now.idle, (size_t)now.totals.retained,
        (size_t)now.totals.mapped, (size_t)now.totals.metadata);
    return written < 0 ? -1 : 0;
}

/* What the process has, in a few lines. */
HEW_EXPORT void
malloc_stats(void)
{
    malloc_stats_print(NULL, NULL, "gmdablxeh");
}

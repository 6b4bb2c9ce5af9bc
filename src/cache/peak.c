/* SPDX-License-Identifier: MIT */
/*
 * peak: looks at what the thread holds each time that it has allocated some bytes more; nothing is kept up in
 * between, so that nobody pays before somebody asks.
 */
#include "cache/peak.h"

#include "cache/count.h"

#define LOOK_BYTES ((size_t)64 << 10)

static __thread struct {
    uint64_t base; /* what the thread held when it began, wrapped if it had freed more than it had allocated */
    int64_t most;
    bool begun;
} peak;

static uint64_t
peak_held(const struct hew_cache *cache)
{
    return hew_count_allocated(cache) - hew_count_freed(cache);
}

static void
peak_begin(uint64_t base)
{
    hew_count_watch(LOOK_BYTES);
    peak.base = base;
    peak.most = 0;
    peak.begun = true;
}

void
hew_peak_begin(const struct hew_cache *cache)
{
    peak_begin(peak_held(cache));
}

void
hew_peak_look(const struct hew_cache *cache)
{
    if (peak.begun) {
        int64_t now = (int64_t)(peak_held(cache) - peak.base);
        peak.most = now > peak.most ? now : peak.most;
    }
}

uint64_t
hew_peak_read(const struct hew_cache *cache)
{
    if (!peak.begun) {
        peak_begin(0);
    }
    hew_peak_look(cache);
    return (uint64_t)peak.most;
}

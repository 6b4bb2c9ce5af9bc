/* SPDX-License-Identifier: MIT */
/* work: a number, so that who listens anew gets nothing from before. */
#include "cache/work.h"

#include "cache/count.h"

_Atomic uint32_t hew_work_heard;
static _Atomic uint64_t told;
static uint32_t times; /* of the thread that listens */

void
hew_work_listen(bool listens)
{
    if (listens == (atomic_load_explicit(&hew_work_heard, memory_order_relaxed) != 0)) {
        return;
    }
    times += listens;
    atomic_store_explicit(&hew_work_heard, listens ? times : 0, memory_order_relaxed);
}

uint64_t
hew_work_told(void)
{
    return atomic_load_explicit(&told, memory_order_relaxed);
}

uint64_t
hew_work_of(const struct hew_cache *cache)
{
    uint64_t operations = 0;
    HEW_EACH_TOUCHED(cache, code)
    {
        operations += hew_cache_requests(cache, code) + hew_cache_frees(cache, code);
    }
    return operations;
}

HEW_NOINLINE void
hew_work_tell_some(struct hew_cache *cache)
{
    uint32_t heard = atomic_load_explicit(&hew_work_heard, memory_order_relaxed);
    uint64_t operations = hew_work_of(cache);
    if (cache->work_heard == heard && operations > cache->work_told) { /* less: its counts have begun anew */
        atomic_fetch_add_explicit(&told, operations - cache->work_told, memory_order_relaxed);
    }
    cache->work_heard = heard;
    cache->work_told = operations;
}

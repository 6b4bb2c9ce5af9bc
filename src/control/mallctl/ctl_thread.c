/* SPDX-License-Identifier: MIT */
/*
 * ctl_thread: thread.*, the calling thread's arena, cache and counters.
 *
 * A thread that can have no cache (it is ending) gets EAGAIN.
 */
#include "alloc/alloc.h"
#include "base/options.h"
#include "cache/count.h"
#include "cache/magazine.h"
#include "cache/thread.h"
#include "control/mallctl/ctl_names_macros.h"
#include "control/mallctl/ctl_value.h"
#include "control/settings/conf_value.h"
#include "slab/arena_life.h"

#include <errno.h>
#include <string.h>

static int
move_to(struct hew_cache *cache, unsigned index)
{
    if (index >= hew_arenas_count()) {
        return EFAULT;
    }
    if (hew_options.percpu_arena != HEW_PERCPU_ARENA_DISABLED && index < hew_arena_limit()) {
        return EPERM; /* with these the CPU selects the arena */
    }
    struct hew_arena *arena = hew_arena_find(index);
    if (arena == NULL) {
        return index < hew_arena_limit() ? EAGAIN : EFAULT;
    }
    return hew_thread_bind(cache, arena) ? 0 : EFAULT;
}

int
hew_ctl_thread_arena(const struct hew_ctl_call *call)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    if (cache == NULL) {
        return EAGAIN;
    }
    unsigned before = cache->arena->index, after = before;
    int error = hew_ctl_write(call, &after, sizeof after);
    if (error == 0 && after != before && hew_ctl_fits(call, sizeof before)) {
        error = move_to(cache, after);
    }
    return error != 0 ? error : hew_ctl_read_unsigned(call, before);
}

int
hew_ctl_thread_allocated(const struct hew_ctl_call *call)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    return cache == NULL ? EAGAIN : hew_ctl_read_uint64(call, hew_count_allocated(cache));
}

int
hew_ctl_thread_deallocated(const struct hew_ctl_call *call)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    return cache == NULL ? EAGAIN : hew_ctl_read_uint64(call, hew_count_freed(cache));
}

/* A program that gets the counter's address may read it at any time: from now on it is kept up to date. */
static struct hew_cache_bytes *
live_counters(void)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    return cache == NULL ? NULL : hew_thread_counters(cache);
}

int
hew_ctl_thread_allocatedp(const struct hew_ctl_call *call)
{
    struct hew_cache_bytes *live = live_counters();
    return live == NULL ? EAGAIN : hew_ctl_read_pointer(call, &live->allocated);
}

int
hew_ctl_thread_deallocatedp(const struct hew_ctl_call *call)
{
    struct hew_cache_bytes *live = live_counters();
    return live == NULL ? EAGAIN : hew_ctl_read_pointer(call, &live->freed);
}

int
hew_ctl_thread_tcache_enabled(const struct hew_ctl_call *call)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    if (cache == NULL) {
        return EAGAIN;
    }
    bool caching = cache->caching;
    int error = hew_ctl_exchange_bool(call, &caching);
    if (error == 0 && caching != cache->caching) {
        hew_thread_set_caching(cache, caching);
    }
    return error;
}

/* The largest class that the cache holds; 0: none. */
static size_t
largest_cached(const struct hew_cache *cache)
{
    unsigned code = HEW_CODE_CACHED_LAST;
    while (code > 0 && cache->classes[code].most == 0) {
        code--;
    }
    return code == 0 ? 0 : hew_code_size(code);
}

int
hew_ctl_thread_tcache_max(const struct hew_ctl_call *call)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    if (cache == NULL) {
        return EAGAIN;
    }
    size_t before = largest_cached(cache), after = before;
    int error = hew_ctl_write(call, &after, sizeof after);
    if (error == 0 && call->new != NULL && !cache->caching) {
        error = EFAULT;
    }
    error = error != 0 ? error : hew_ctl_read_uint64(call, before);
    if (error == 0 && call->new != NULL) {
        size_t largest = after < HEW_CACHED_MAX ? after : HEW_CACHED_MAX;
        unsigned code = hew_code_of_size(largest);
        bool holds = hew_code_size(code) >= largest; /* not if the class was cut to a size */
        hew_thread_set_sizes(cache, hew_code_size(holds ? code : code + 1));
    }
    return error;
}

int
hew_ctl_thread_tcache_flush(const struct hew_ctl_call *call)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    if (cache == NULL || !cache->caching) {
        return EFAULT;
    }
    hew_magazine_send_all_home(cache);
    return 0;
}

/* The program passes the size in the same buffer in which it receives the number of cached objects. */
int
hew_ctl_thread_ncached_max_read(const struct hew_ctl_call *call)
{
    size_t size;
    int error = hew_ctl_must_write(call, &size, sizeof size);
    if (error != 0 || size > HEW_CACHED_MAX) {
        return EINVAL;
    }
    struct hew_cache *cache = hew_alloc_own_cache();
    return cache == NULL ? EAGAIN : hew_ctl_read_uint64(call, cache->classes[hew_code_for(size)].most);
}

static void
choose(struct hew_cache *cache, const struct hew_option_range *range)
{
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        size_t size = hew_code_size(code);
        if (size >= range->low && size <= range->high) {
            hew_thread_set_count(cache, code, (unsigned)range->value);
        }
    }
}

int
hew_ctl_thread_ncached_max_write(const struct hew_ctl_call *call)
{
    const char *text;
    struct hew_options chosen = {.tcache_ncached_max = {.count = 0}};
    const struct hew_option *option = &hew_option_table[HEW_CTL_OPTION_tcache_ncached_max];
    if (call->new == NULL) {
        return 0;
    }
    int error = hew_ctl_write(call, &text, sizeof text);
    if (error != 0 || text == NULL || hew_conf_value_take(&chosen, option, text, strlen(text)) == HEW_CONF_REFUSED) {
        return EINVAL;
    }
    struct hew_cache *cache = hew_alloc_own_cache();
    if (cache == NULL || !cache->caching) {
        return EFAULT;
    }
    for (unsigned i = 0; i < chosen.tcache_ncached_max.count; i++) {
        choose(cache, &chosen.tcache_ncached_max.at[i]);
    }
    return 0;
}

int
hew_ctl_thread_peak_read(const struct hew_ctl_call *call)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    return cache == NULL ? EAGAIN : hew_ctl_read_uint64(call, hew_count_peak_read(cache));
}

int
hew_ctl_thread_peak_reset(const struct hew_ctl_call *call)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    if (cache == NULL) {
        return EAGAIN;
    }
    hew_count_peak_begin(cache);
    return 0;
}

int
hew_ctl_thread_idle(const struct hew_ctl_call *call)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    if (cache != NULL) {
        hew_magazine_drop_all(cache);
    }
    return 0;
}

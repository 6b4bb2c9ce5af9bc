/* SPDX-License-Identifier: MIT */
#include "api/boot.h"

#include "alloc/alloc.h"
#include "alloc/fill.h"
#include "alloc/foreign.h"
#include "alloc/harden.h"
#include "alloc/pressure.h"
#include "api/messages.h"
#include "api/stats_due.h"
#include "base/options.h"
#include "cache/budget.h"
#include "cache/count.h"
#include "cache/magazine.h"
#include "cache/thread.h"
#include "control/purger.h"
#include "control/remote/remote.h"
#include "control/settings/conf_classes.h"
#include "control/settings/conf_sources.h"
#include "guard/guard.h"
#include "os/environment.h"
#include "os/futex.h"
#include "os/object.h"
#include "os/threads.h"
#include "page/huge.h"
#include "pool/life.h"
#include "pool/serve.h"
#include "prof/profiler.h"
#include "slab/arena.h"
#include "slab/describe.h"
#include "stats/peak.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { COLD, BOOTING, READY };
static _Atomic uint32_t boot_state;

/* The end of a thread.  The key's value counts the rounds of destructors, so that ours runs after the first round of
 * other keys.  A thread that allocates later is served without a cache.  Each further round costs every thread of the
 * program 400 instructions. */
#define LAST_ROUND ((uintptr_t)2)
static pthread_key_t end_key;
static _Atomic bool end_key_made;

static void
thread_ends(void *round)
{
    uintptr_t next = (uintptr_t)round + 1;
    if (next > LAST_ROUND || pthread_setspecific(end_key, (void *)next) != 0) {
        if (hew_cache_is_real(hew_cache_self)) {
            hew_prof_death(hew_cache_self->real);
        }
        if (atomic_load_explicit(&hew_pool_used, memory_order_relaxed)) {
            hew_pool_life_leave();
        }
        if (hew_harden_is_full()) {
            hew_harden_end();
        }
        hew_thread_leave();
        if (atomic_load(&hew_caches_alive) == 0) {
            hew_purger_end();
            hew_remote_end();
        } else {
            hew_purger_wake_running();
        }
    }
}

static void
warn(void *context, const char *line, size_t length)
{
    hew_messages_hold(line, length);
}

/* Returns false if the program must end. */
static bool
load_settings(void)
{
    struct hew_conf_input input = {0};
    hew_conf_gather(&input);
    input.warn = warn;
    input.variable = malloc_conf;
    input.harder = hew_swapped.settings != NULL ? hew_swapped.settings : malloc_conf_2_conf_harder;
    return hew_conf_load(&hew_options, &input);
}

/* malloc_message receives the text first. */
static HEW_COLD HEW_NOINLINE void
end_by_settings(void)
{
    hew_messages_release();
    hew_fatal(HEW_FATAL_bad_settings, "malloc", 0, NULL);
}

/* The parser has already validated the text. */
static HEW_COLD void
apply_classes(void)
{
    struct hew_conf_classes classes;
    hew_conf_classes_read(hew_options.classes, strlen(hew_options.classes), &classes);
    hew_size_class_set_own(classes.sizes, classes.count);
}

static void
apply_slab_sizes(void)
{
    const struct hew_option_ranges *ranges = &hew_options.slab_sizes;
    for (unsigned i = 0; i < ranges->count; i++) {
        hew_size_class_set_slabs(ranges->at[i].low, ranges->at[i].high, ranges->at[i].value);
    }
}

/* Returns true if a setting limits the memory that may be held.  Otherwise the code for limits is never paged in. */
static bool
has_own_limits(void)
{
    return hew_options.cache_room != HEW_BUDGET_USUAL || hew_options.depot_room != HEW_BUDGET_USUAL ||
           hew_options.limit != 0 || hew_options.limit_hard != 0;
}

static HEW_COLD HEW_NOINLINE void
apply_room(void)
{
    hew_budget_set_share(hew_options.cache_room);
    hew_budget_set_depots(hew_options.depot_room);
    hew_pressure_begin();
}

/* The steps that may call malloc; they run after READY. */
static void
boot_with_malloc(void)
{
    if (hew_threads_here() && pthread_key_create(&end_key, thread_ends) == 0) {
        atomic_store(&end_key_made, true);
    }
    hew_fork_register();
    hew_stats_begin();
    if (hew_options.prof) {
        atexit(hew_profile_at_exit);
    }
    if (hew_options.control[0] != '\0') {
        hew_remote_boot();
    }
}

/* With junk and zero every request must take the slow path. */
static bool
wants_caching(void)
{
    return hew_options.tcache && !hew_fill_wanted();
}

/* Applies the level of hardening to the cache of a new thread.  NULL: not possible, the thread gets none. */
static HEW_COLD HEW_NOINLINE struct hew_cache *
harden_birth(struct hew_cache *cache)
{
    if (!hew_marks_wanted()) {
        hew_magazine_guard_begin(cache);
    } else if (!hew_harden_birth(cache)) {
        hew_thread_death(); /* no operation may go unchecked */
        return NULL;
    }
    return cache;
}

static HEW_COLD HEW_NOINLINE void
harden(void)
{
    if (hew_marks_wanted()) {
        hew_harden_boot();
    } else {
        hew_guard_boot();
    }
}

static struct hew_cache *
birth(void)
{
    struct hew_cache *cache = hew_thread_birth(wants_caching());
    if (cache != NULL && hew_options.prof) {
        hew_prof_birth(cache);
    }
    return HEW_LIKELY(hew_options.hardening == HEW_HARDENING_OFF) || cache == NULL ? cache : harden_birth(cache);
}

/* What the kernel does not say is the largest: its multiples are whole pages of any size. */
static HEW_COLD void
read_system_page(void)
{
    size_t page = hew_environment_auxiliary(AT_PAGESZ);
    hew_system_page = page == 0 ? HEW_SYSTEM_PAGE_MAX : page;
}

HEW_COLD void
hew_boot(void)
{
    uint32_t state = COLD;
    if (!atomic_compare_exchange_strong(&boot_state, &state, BOOTING)) {
        while (state == BOOTING) { /* another thread is booting */
            hew_futex_wait(&boot_state, BOOTING, 0);
            state = atomic_load(&boot_state);
        }
        return;
    }
    read_system_page();
    hew_size_class_boot();
    hew_thread_boot();
    bool well = load_settings(); /* a setting selects the layout of the map */
    if (!hew_map_boot(hew_options.reserve_maps)) {
        hew_fatal(HEW_FATAL_no_memory_at_start, "malloc", 0, NULL);
    }
    if (HEW_UNLIKELY(hew_options.classes[0] != '\0')) {
        apply_classes();
    }
    apply_slab_sizes();
    if (HEW_UNLIKELY(has_own_limits())) {
        apply_room();
    }
    if (HEW_UNLIKELY(hew_options.hardening != HEW_HARDENING_OFF)) {
        harden();
    }
    if (HEW_UNLIKELY(hew_options.pools[0] != '\0')) {
        hew_declared_reserve(hew_options.pools);
    }
    atomic_store(&boot_state, READY);
    hew_futex_wake(&boot_state, INT32_MAX);
    __atomic_store_n(&hew_small_end, HEW_SMALL_MAX + 1,
                     __ATOMIC_RELEASE); /* pairs with hew_size_is_small() and similar functions */
    __atomic_store_n(&hew_aligned_end, hew_classes_are_own ? 0 : HEW_SMALL_MAX + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&hew_large_end, HEW_LARGE_CODES_MAX + 1, __ATOMIC_RELEASE);
    if (hew_options.prof) {
        hew_prof_boot();
    }
    hew_arena_limit();
    birth();
    if (HEW_UNLIKELY(!well)) {
        end_by_settings();
    }
    boot_with_malloc();
    hew_messages_release();
}

/* Without a key the end is reported once, before the destructors of the program's keys. */
static void
watch_end(void)
{
    if (atomic_load(&end_key_made)) {
        pthread_setspecific(end_key, (void *)1);
    } else {
        hew_threads_at_end(thread_ends, (void *)LAST_ROUND);
    }
}

void
hew_expect_filter(void)
{
    hew_purger_start_no_more();
    hew_huge_look_no_more();
    hew_pressure_read_no_more();
}

static struct hew_cache *
start_thread(void)
{
    if (hew_cache_self == &hew_cache_gone) {
        return NULL;
    }
    if (atomic_load_explicit(&boot_state, memory_order_acquire) != READY) {
        hew_boot();
    }
    struct hew_cache *cache = hew_cache_self;
    cache = hew_cache_is_real(cache) ? cache->real : birth();
    if (cache != NULL) {
        watch_end();
    }
    return cache;
}

static void
purge_due(bool freeing)
{
    if (hew_cache_self == &hew_cache_gone) {
        hew_purger_wake_running();
        return;
    }
    if (freeing) {
        hew_purger_wake_in_free();
        return;
    }
    if (hew_remote_is_due()) {
        if (!hew_os_loader_is_done()) { /* a later caller starts both */
            return;
        }
        hew_remote_start();
    }
    hew_purger_wake();
}

static void *
attend(struct hew_cache *cache, struct hew_arena *arena, unsigned code, size_t size, struct hew_extent *large)
{
    uint8_t due = cache->due;
    cache->due = 0;
    /* The sample comes first: a report may call a function of the program, which allocates and changes
     * cache->due_code. */
    void *sampled = (due & HEW_DUE_SAMPLE) != 0 ? hew_prof_attend(cache, arena, code, size, large) : NULL;
    if (HEW_UNLIKELY((due & HEW_DUE_GUARD) != 0) && sampled == NULL && large == NULL) {
        sampled = hew_guard_attend(arena, code, size);
    }
    if ((due & HEW_DUE_BYTES) != 0) {
        hew_count_peak_look(cache);
        hew_stats_passed(hew_count_passed(cache));
    }
    return sampled;
}

const struct hew_upcalls hew_upcalls = {start_thread,
                                        attend,
                                        hew_prof_freed,
                                        hew_prof_keep_place,
                                        purge_due,
                                        hew_stats_peak_look,
                                        hew_pool_serve_plain_free,
                                        hew_pool_serve_plain_usable,
                                        hew_guard_free,
                                        hew_guard_usable,
                                        hew_guard_trust_sizes};

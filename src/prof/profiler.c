/* SPDX-License-Identifier: MIT */
#include "prof/profiler.h"

#include "base/natural.h"
#include "base/options.h"
#include "cache/magazine.h"
#include "cache/owner.h"
#include "meta/memory.h"
#include "os/clock.h"
#include "os/probe.h"
#include "os/syscall.h"
#include "prof/dump.h"
#include "prof/modules.h"
#include "prof/unwind.h"

#include <string.h>
#include <sys/prctl.h>

#define COUNT_MOST (UINT32_C(1) << 31)

_Atomic bool hew_prof_active, hew_prof_active_init;
_Atomic unsigned hew_prof_lg_sample;

/* The default of experimental.hooks.prof_backtrace; a hook may call the function it replaced. */
static void
walk(void **frames, unsigned *depth, unsigned most)
{
    struct hew_prof_own *own = hew_prof_own();
    *depth = hew_unwind((uintptr_t *)frames, most, own != NULL && own->inside ? own->walks_from : 0);
}

_Atomic(hew_prof_function) hew_prof_hooks[HEW_PROF_HOOKS] = {[HEW_PROF_ON_BACKTRACE] = (hew_prof_function)walk};

static hew_prof_function
hook_of(enum hew_prof_hook hook)
{
    return atomic_load_explicit(&hew_prof_hooks[hook], memory_order_relaxed);
}

_Atomic uint64_t hew_prof_seed;

static struct hew_prof_class classes[HEW_CODE_SMALL_LAST + HEW_LARGE_CLASSES]; /* guarded by hew_prof_lock */

/* Records of objects that were freed inside the profiler; their counts are subtracted later. */
static _Atomic(struct hew_prof_record *) waiting;

void
hew_prof_boot(void)
{
    atomic_store(&hew_prof_active, hew_options.prof_active);
    atomic_store(&hew_prof_active_init, hew_options.prof_thread_active_init);
    atomic_store(&hew_prof_lg_sample, (unsigned)hew_options.lg_prof_sample);
    hew_unwind_boot(hew_modules_note);
    hew_dump_boot();
    hew_event_keep_recent(hew_options.prof_recent_alloc_max);
    if (hew_options.prof_log) {
        hew_dump_log_begin(NULL);
    }
}

/* Sets the number of allocations of the class until its next sample.  The part that exceeds the cache's counter goes to
 * `left`. */
static void
set_count(struct hew_cache *cache, struct hew_prof_own *own, unsigned code, uint64_t count)
{
    uint64_t now = count < COUNT_MOST ? count : COUNT_MOST;
    own->left[code] = count - now;
    hew_magazine_sample_after(cache, code, (uint32_t)now);
}

static void
draw_class(struct hew_cache *cache, struct hew_prof_own *own, unsigned code)
{
    set_count(cache, own, code, hew_random_objects(&own->random, hew_code_size(code), hew_prof_interval()));
}

/* For objects of no class, in bytes: the object at which the count runs out is sampled. */
static void
draw_bytes(struct hew_cache *cache, struct hew_prof_own *own)
{
    cache->until_sample = (int64_t)hew_random_objects(&own->random, 1, hew_prof_interval()) - 1;
}

void
hew_prof_birth(struct hew_cache *cache)
{
    struct hew_prof_own *own = hew_meta_take(sizeof *own);
    cache->profile = own;
    if (own == NULL) {
        for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
            hew_magazine_sample_after(cache, code, COUNT_MOST);
        }
        cache->until_sample = INT64_MAX;
        return;
    }
    bool seeded = atomic_load_explicit(&hew_prof_seed, memory_order_relaxed) != 0;
    uint64_t chance = hew_clock_ns() ^ (uintptr_t)cache * UINT64_C(0x9e3779b97f4a7c15);
    own->random.state = seeded ? atomic_fetch_add_explicit(&hew_prof_seed, 1, memory_order_relaxed) : chance;
    own->active = atomic_load_explicit(&hew_prof_active_init, memory_order_relaxed);
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        draw_class(cache, own, code);
    }
    draw_bytes(cache, own);
}

/* Lock held.  `count` is 1, or -1 modulo 2^64, which subtracts. */
static void
count_class(const struct hew_prof_record *record, uint64_t count)
{
    struct hew_prof_class *counts = &classes[hew_code_of_size(record->usable) - 1];
    counts->live_count += count;
    counts->live_bytes += count * record->requested;
    if (count == 1) {
        counts->ever_count++;
        counts->ever_bytes += record->requested;
    }
}

/* Lock held. */
static void
remove_record(struct hew_prof_record *record)
{
    if (record->counter != NULL) {
        count_class(record, (uint64_t)-1);
    }
    if (record->counter != NULL && record->generation == hew_prof_generation) {
        hew_list_remove(&record->of_counter);
        hew_prof_table_remove(record->counter, &record->weight);
    }
    hew_meta_give(record, sizeof *record);
}

/* Takes the lock, and subtracts the counts of the pending records. */
static void
lock(void)
{
    hew_mutex_lock(&hew_prof_lock);
    struct hew_prof_record *next;
    /* acquire: pairs with the release in note_removal() */
    struct hew_prof_record *record = atomic_exchange_explicit(&waiting, NULL, memory_order_acquire);
    for (; record != NULL; record = next) {
        next = record->next;
        remove_record(record);
    }
}

static void
unlock(void)
{
    hew_mutex_unlock(&hew_prof_lock);
}

static void
note_removal(struct hew_prof_record *record)
{
    record->next = atomic_load_explicit(&waiting, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&waiting, &record->next, record, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

void
hew_prof_death(struct hew_cache *cache)
{
    struct hew_prof_own *own = cache->profile;
    if (own == NULL) {
        return;
    }
    cache->profile = NULL;
    if (own->thread != NULL) {
        lock();
        hew_prof_table_leave(own->thread);
        unlock();
    }
    hew_meta_give(own, sizeof *own);
}

struct hew_prof_own *
hew_prof_own(void)
{
    struct hew_cache *cache = hew_alloc_own_cache();
    return cache == NULL ? NULL : cache->profile;
}

bool
hew_prof_enter(struct hew_prof_own *own)
{
    if (own->inside) {
        return false;
    }
    own->inside = true;
    atomic_signal_fence(
        memory_order_seq_cst); /* a signal handler of this thread sees `inside` before anything that follows */
    return true;
}

void
hew_prof_leave(struct hew_prof_own *own)
{
    atomic_signal_fence(memory_order_seq_cst);
    own->inside = false;
}

struct hew_prof_thread *
hew_prof_thread_of(struct hew_prof_own *own)
{
    if (own->thread == NULL) {
        lock();
        own->thread = hew_prof_table_join();
        unlock();
    }
    struct hew_prof_thread *thread = own->thread;
    if (thread != NULL && hew_options.prof_sys_thread_name) {
        char name[HEW_PROF_NAME_BYTES] = ""; /* the kernel's names are 16 bytes */
        hew_syscall2(SYS_prctl, PR_GET_NAME, name);
        lock();
        memcpy(thread->name, name, sizeof name);
        unlock();
    }
    return thread;
}

static unsigned
take_frames(struct hew_prof_own *own, uintptr_t *frames)
{
    unsigned depth = 0, most = hew_options.prof_bt_max;
    own->walks_from = (uintptr_t)&depth;
    ((hew_prof_on_backtrace)hook_of(HEW_PROF_ON_BACKTRACE))((void **)frames, &depth, most);
    return depth < most ? depth : most;
}

/* Counts the record's object; without memory it stays uncounted. */
static void
count(struct hew_prof_own *own, struct hew_prof_record *record, const uintptr_t *frames, unsigned depth)
{
    struct hew_prof_thread *thread = hew_prof_thread_of(own);
    if (thread == NULL) {
        return;
    }
    record->weight = hew_weight_of(record->usable, hew_prof_interval());
    record->time_ns = hew_clock_ns();
    lock();
    record->generation = hew_prof_generation;
    record->counter = hew_prof_table_add(thread, frames, depth, &record->weight);
    if (record->counter != NULL) {
        hew_list_push_back(&record->counter->records, &record->of_counter);
        count_class(record, 1);
    }
    unlock();
}

struct hew_prof_class
hew_prof_class_counts(unsigned class_index)
{
    struct hew_prof_class counts = {0, 0, 0, 0};
    lock();
    if (class_index < sizeof classes / sizeof classes[0]) {
        counts = classes[class_index];
    }
    unlock();
    return counts;
}

/* The current moment, as the allocation or the free of an object. */
static struct hew_event_end
end_here(struct hew_prof_own *own, uintptr_t *frames, unsigned depth)
{
    struct hew_prof_thread *thread = hew_prof_thread_of(own);
    struct hew_event_end end = {.time_ns = hew_event_now_ns(), .depth = depth, .frames = frames};
    if (thread != NULL) {
        end.thread = thread->number;
        memcpy(end.name, thread->name, sizeof end.name);
    }
    return end;
}

static void
end_event(struct hew_prof_own *own, struct hew_event *event)
{
    uintptr_t frames[HEW_PROF_FRAMES_MAX];
    if (own == NULL) {
        hew_event_end(event, NULL);
        return;
    }
    struct hew_event_end end = end_here(own, frames, take_frames(own, frames));
    hew_event_end(event, &end);
}

static void
tell(const struct hew_prof_record *record, const void *object, uintptr_t *frames, unsigned depth)
{
    hew_probe_alloc(object, record->requested, record->weight.weight_bytes);
    hew_prof_on_sample hook = (hew_prof_on_sample)hook_of(HEW_PROF_ON_SAMPLE);
    if (hook != NULL) {
        hook(object, record->requested, (void **)frames, depth, record->usable);
    }
}

/* Samples the large object, or allocates one for `size` bytes of class `code`; NULL: none. */
static void *
sample(struct hew_prof_own *own, struct hew_arena *arena, unsigned code, size_t size, struct hew_extent *large)
{
    uintptr_t frames[HEW_PROF_FRAMES_MAX];
    unsigned depth = take_frames(own, frames);
    struct hew_prof_record *record = hew_meta_take(sizeof *record);
    if (record == NULL) {
        return NULL;
    }
    struct hew_extent *extent = large;
    if (large != NULL) {
        hew_alloc_mark_sampled(large, record);
    } else {
        extent = hew_alloc_sampled(arena, code, record);
    }
    if (extent == NULL) {
        hew_meta_give(record, sizeof *record);
        return NULL;
    }
    record->requested = size;
    record->usable = extent->large.usable;
    count(own, record, frames, depth);
    if (hew_event_wanted()) {
        struct hew_event_end begin = end_here(own, frames, depth);
        record->event = hew_event_begin(size, record->usable, &begin);
    }
    void *object = (void *)extent->address;
    tell(record, object, frames, depth);
    hew_dump_notice(record->weight.weight_bytes);
    return object;
}

static bool
is_wanted(const struct hew_prof_own *own)
{
    return own->active && atomic_load_explicit(&hew_prof_active, memory_order_relaxed);
}

void *
hew_prof_attend(struct hew_cache *cache, struct hew_arena *arena, unsigned code, size_t size, struct hew_extent *large)
{
    struct hew_prof_own *own = cache->profile;
    unsigned counted = cache->due_code;
    if (own == NULL) {
        hew_prof_birth(cache);
        return NULL;
    }
    if (counted == HEW_CODE_NONE) { /* counted by bytes */
        if (cache->until_sample >= 0) {
            return NULL;
        }
        draw_bytes(cache, own);
    } else if (own->left[counted] != 0) { /* only a part of the count has elapsed */
        set_count(cache, own, counted, own->left[counted]);
        return NULL;
    } else {
        draw_class(cache, own, counted);
    }
    if (!is_wanted(own) || !hew_prof_enter(own)) {
        return NULL;
    }
    void *object = sample(own, arena, code, size, large);
    hew_prof_leave(own);
    return object;
}

/*
 * A sampled object lies on its own extent, not in a slab, so it does not show which slab it would keep alive.  The
 * reserved region does.  The object was allocated instead of it; it is freed with the object.  It comes only from the
 * extent's own arena, so that both disappear together when the arena is emptied.
 */
bool
hew_prof_keep_place(void *sampled, unsigned code, void *place)
{
    struct hew_extent *extent = hew_map_extent((uintptr_t)sampled), *slab = hew_map_extent((uintptr_t)place);
    if (extent == NULL || slab == NULL ||
        slab->arena != extent->arena) { /* NULL: a guarded object, which is no sample */
        return false;
    }
    struct hew_prof_record *record = extent->large.sample;
    record->code = code;
    /* release: pairs with the acquire of threads that read or take the place */
    atomic_store_explicit(&record->place, place, memory_order_release);
    return true;
}

static void *
take_place(struct hew_prof_record *record)
{
    return atomic_exchange_explicit(&record->place, NULL, memory_order_acq_rel);
}

void
hew_prof_forget_place(struct hew_extent *extent)
{
    take_place(extent->large.sample);
}

void
hew_prof_freed(struct hew_extent *extent)
{
    struct hew_prof_record *record = extent->large.sample;
    void *place = take_place(record);
    unsigned code = record->code;
    struct hew_cache *cache = hew_cache_is_real(hew_cache_self) ? hew_cache_self->real : NULL;
    struct hew_prof_own *own = cache == NULL ? NULL : cache->profile;
    bool entered = own != NULL && hew_prof_enter(own);
    hew_probe_free((void *)extent->address);
    hew_prof_on_free hook = (hew_prof_on_free)hook_of(HEW_PROF_ON_FREE);
    if (hook != NULL && entered) {
        hook((void *)extent->address, record->usable);
    }
    if (record->event != NULL) {
        end_event(entered ? own : NULL, record->event);
    }
    note_removal(record);
    if (own == NULL || entered) {
        lock(); /* processes the pending removals */
        unlock();
    }
    if (entered) {
        hew_prof_leave(own);
    }
    if (place != NULL) {
        hew_owner_give(code, &place, 1);
    }
}

void
hew_prof_reset(unsigned lg_sample)
{
    lock();
    atomic_store_explicit(&hew_prof_lg_sample, lg_sample, memory_order_relaxed);
    hew_prof_table_reset();
    unlock();
}

void
hew_prof_after_fork(void)
{
    struct hew_cache *cache = hew_cache_is_real(hew_cache_self) ? hew_cache_self->real : NULL;
    struct hew_prof_own *own = cache == NULL ? NULL : cache->profile;
    hew_prof_table_after_fork(own == NULL ? NULL : own->thread);
}

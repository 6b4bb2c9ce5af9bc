/* SPDX-License-Identifier: MIT */
/*
 * profiler: chooses which objects are sampled, and records them.
 *
 *     cache counts down --> attend: draws the next count, walks the stack, --> table (live and ever, by stack and thread)
 *                           and puts the object onto an extent of its own  --> hooks, probes, recent, log
 *     free of it        --> freed
 *
 * Promises  each object is sampled with probability 1 - e^(-size / interval), so its weight is known (weight.h).  While
 *           a thread is inside the profiler, its allocations are not sampled and its frees of sampled objects are
 *           queued, so hooks and signal handlers may allocate and free.  No lock is held while a stack is walked, a
 *           file is written or a hook is called.
 * Locks     hew_prof_lock, taken inside.
 * Not here  counting down: cache/magazine.c.  Files: dump.h.
 */
#ifndef HEW_PROF_PROFILER_H
#define HEW_PROF_PROFILER_H

#include "alloc/alloc.h"
#include "base/random.h"
#include "prof/event.h"
#include "prof/table.h"

#include <stdatomic.h>

#define HEW_PROF_FRAMES_MAX 256

/* The profiler's data for a thread: hew_cache.profile.  Only the thread uses it, except for atomic fields. */
struct hew_prof_own {
    struct hew_random random;
    struct hew_prof_thread *thread;          /* NULL until the thread has a name or a sample */
    bool active;                             /* thread.prof.active */
    bool inside;                             /* the thread is inside the profiler */
    uintptr_t walks_from;                    /* stack address from which the profiler started its walk */
    uint64_t left[HEW_CODE_CACHED_LAST + 1]; /* allocations to the next sample beyond the cache's counter */
};

/* large.sample of a sampled object points to this. */
struct hew_prof_record {
    struct hew_prof_record *next; /* link in the queue of pending removals */
    struct hew_prof_counter *counter;
    struct hew_list of_counter; /* under hew_prof_lock, while the counter and its generation last */
    uint64_t generation, time_ns;
    struct hew_prof_totals weight;
    size_t requested, usable;
    struct hew_event *event; /* NULL: neither the list of recent samples nor the log is enabled */
    /* The slab region, of class `code`, that the object would occupy if it were not sampled.  It stays reserved while
     * the object lives.  NULL: none.  The release store of `place` publishes `code`. */
    _Atomic(void *) place;
    unsigned code;
};

/* Settings that change at run time; relaxed. */
extern _Atomic bool hew_prof_active, hew_prof_active_init;
extern _Atomic unsigned hew_prof_lg_sample;

/* Functions of the program (experimental.hooks.prof_*).  The profiler calls them without a lock, with the thread inside
 * the profiler; relaxed.  They have jemalloc 5.3.1's arguments. */
enum hew_prof_hook { HEW_PROF_ON_BACKTRACE, HEW_PROF_ON_DUMP, HEW_PROF_ON_SAMPLE, HEW_PROF_ON_FREE, HEW_PROF_HOOKS };
typedef void (*hew_prof_function)(void);
typedef void (*hew_prof_on_backtrace)(void **frames, unsigned *depth, unsigned most);
typedef void (*hew_prof_on_dump)(const char *path);
typedef void (*hew_prof_on_sample)(const void *object, size_t size, void **frames, unsigned depth, size_t usable);
typedef void (*hew_prof_on_free)(const void *object, size_t usable);
extern _Atomic(hew_prof_function) hew_prof_hooks[HEW_PROF_HOOKS];

/* Samples by size class: objects and requested bytes.  A reset keeps them. */
struct hew_prof_class {
    uint64_t live_bytes, live_count, ever_bytes, ever_count;
};
struct hew_prof_class hew_prof_class_counts(unsigned class_index);

/* Flags that select one of the four numbers: large instead of small, ever instead of live. */
enum { HEW_PROF_CLASS_LARGE = 1, HEW_PROF_CLASS_EVER = 2 };

HEW_INLINE uint64_t
hew_prof_interval(void)
{
    return UINT64_C(1) << atomic_load_explicit(&hew_prof_lg_sample, memory_order_relaxed);
}

/* Seed for threads that start from now on; 0: use clock and addresses.  For tests. */
extern _Atomic uint64_t hew_prof_seed;

/* Called if prof:true, after the settings are known. */
void hew_prof_boot(void);

/* Called after a thread got its cache, and before it loses it. */
void hew_prof_birth(struct hew_cache *cache);
void hew_prof_death(struct hew_cache *cache);

/* hew_upcalls.attend, called when a sample is due, and hew_upcalls.sample_freed. */
void *hew_prof_attend(struct hew_cache *cache, struct hew_arena *arena, unsigned code, size_t size,
                      struct hew_extent *large);
void hew_prof_freed(struct hew_extent *extent);

/* hew_upcalls.keep_place. */
bool hew_prof_keep_place(void *sampled, unsigned code, void *place);

/* The extent's arena has discarded its slabs and with them the reserved region, which must not be freed. */
void hew_prof_forget_place(struct hew_extent *extent);

/* Clears all counts.  From now on one byte in 2^lg_sample is sampled, except for countdowns that threads have already
 * drawn. */
void hew_prof_reset(unsigned lg_sample);

/* The calling thread's data; NULL if it can have none. */
struct hew_prof_own *hew_prof_own(void);

/* The thread's entry in the table, created on demand; NULL without memory. */
struct hew_prof_thread *hew_prof_thread_of(struct hew_prof_own *own);

/* Enters and leaves the profiler; false: the thread is inside already. */
bool hew_prof_enter(struct hew_prof_own *own);
void hew_prof_leave(struct hew_prof_own *own);

/* Called in a fork's child after the locks are reset. */
void hew_prof_after_fork(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * profiler: which objects are sampled, and what becomes known of them.
 *
 *     cache counts down --> attend: draws the next count, walks the stack, --> table (live and ever, by stack and thread)
 *                           and puts the object onto an extent of its own  --> hooks, probes, recent, log
 *     free of it        --> freed
 *
 * Promises  each object is sampled with the chance 1 - e^(-size / interval), so its weight is known (weight.h); while a
 *           thread works here, what it allocates is not sampled, and what it frees is only noted, so that hooks and signal
 *           handlers may allocate and free; no lock is held while a stack is walked, a file written or a hook called.
 * Locks     hew_prof_lock, inside.
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

/* What the profiler keeps for a thread: hew_cache.profile.  The thread's own, but for what is atomic. */
struct hew_prof_own {
    struct hew_random random;
    struct hew_prof_thread *thread;          /* NULL until it has a name or a sample */
    bool active;                             /* thread.prof.active */
    bool inside;                             /* it is at work here */
    uintptr_t walks_from;                    /* where on its stack the profiler asked for frames */
    uint64_t left[HEW_CODE_CACHED_LAST + 1]; /* of a count to the next sample, what did not fit the cache's counter */
};

/* What large.sample of a sampled object points to. */
struct hew_prof_record {
    struct hew_prof_record *next; /* while it waits for its removal */
    struct hew_prof_counter *counter;
    struct hew_list of_counter; /* under hew_prof_lock, while the counter and its generation last */
    uint64_t generation, time_ns;
    struct hew_prof_totals weight;
    size_t requested, usable;
    struct hew_event *event; /* NULL: nobody wants to know of single samples */
    /* The region of a slab, of class `code`, that the object would be in, had it not been sampled; it is kept as long as the
     * object lives.  NULL: none.  Its release publishes `code`. */
    _Atomic(void *) place;
    unsigned code;
};

/* Settings that change at run time; relaxed. */
extern _Atomic bool hew_prof_active, hew_prof_active_init;
extern _Atomic unsigned hew_prof_lg_sample;

/* Functions of the program (experimental.hooks.prof_*), called without a lock and by a thread inside the profiler; relaxed.
 * Their arguments are jemalloc 5.3.1's. */
enum hew_prof_hook { HEW_PROF_ON_BACKTRACE, HEW_PROF_ON_DUMP, HEW_PROF_ON_SAMPLE, HEW_PROF_ON_FREE, HEW_PROF_HOOKS };
typedef void (*hew_prof_function)(void);
typedef void (*hew_prof_on_backtrace)(void **frames, unsigned *depth, unsigned most);
typedef void (*hew_prof_on_dump)(const char *path);
typedef void (*hew_prof_on_sample)(const void *object, size_t size, void **frames, unsigned depth, size_t usable);
typedef void (*hew_prof_on_free)(const void *object, size_t usable);
extern _Atomic(hew_prof_function) hew_prof_hooks[HEW_PROF_HOOKS];

/* Samples by size class: objects, and the bytes that were asked for.  A reset leaves them. */
struct hew_prof_class {
    uint64_t live_bytes, live_count, ever_bytes, ever_count;
};
struct hew_prof_class hew_prof_class_counts(unsigned class_index);

/* For whoever names one of the four numbers: not small but large, not live but ever. */
enum { HEW_PROF_CLASS_LARGE = 1, HEW_PROF_CLASS_EVER = 2 };

HEW_INLINE uint64_t
hew_prof_interval(void)
{
    return UINT64_C(1) << atomic_load_explicit(&hew_prof_lg_sample, memory_order_relaxed);
}

/* Draws of threads that are born from now on follow from it; 0: from clock and addresses.  For tests. */
extern _Atomic uint64_t hew_prof_seed;

/* With prof:true, after the settings are known. */
void hew_prof_boot(void);

/* A thread has got its cache; it is about to lose it. */
void hew_prof_birth(struct hew_cache *cache);
void hew_prof_death(struct hew_cache *cache);

/* hew_upcalls.attend, when a sample is due, and hew_upcalls.sample_freed. */
void *hew_prof_attend(struct hew_cache *cache, struct hew_arena *arena, unsigned code, size_t size,
                      struct hew_extent *large);
void hew_prof_freed(struct hew_extent *extent);

/* hew_upcalls.keep_place. */
bool hew_prof_keep_place(void *sampled, unsigned code, void *place);

/* The extent's arena has lost its slabs, and with them the place: it is not to be given back. */
void hew_prof_forget_place(struct hew_extent *extent);

/* Forgets everything counted so far; from now on a byte in 2^lg_sample is sampled, but for the counts that threads have
 * drawn already. */
void hew_prof_reset(unsigned lg_sample);

/* The calling thread's; NULL when it can have none. */
struct hew_prof_own *hew_prof_own(void);

/* Its entry in the table, made if need be; NULL without memory. */
struct hew_prof_thread *hew_prof_thread_of(struct hew_prof_own *own);

/* Begins and ends work in the profiler; false: the thread is at it already. */
bool hew_prof_enter(struct hew_prof_own *own);
void hew_prof_leave(struct hew_prof_own *own);

/* In a fork's child, with the locks free again. */
void hew_prof_after_fork(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * table: allocations by call stack and thread: stacks, threads, and a counter for each pair of them.
 *
 *     stack --+-- counter (stack, thread): live and ever --+-- thread
 *             +-- counter ...                              +-- thread ...
 *
 * Owns      all of these.  A counter is freed when nothing it counts is live; with prof_accum its thread must have
 *           ended too, and its totals move to its stack.  A stack is freed with its last counter unless it has totals
 *           of its own, an ended thread with its last counter.
 * Locks     hew_prof_lock (rank: prof, outside event and meta alone) guards everything here, and fields elsewhere in
 *           this layer that name it.  It is held for some lookups only, never while a stack is walked, a file is
 *           written or a hook is called.
 * Not here  which objects are sampled: sample.c.
 */
#ifndef HEW_PROF_TABLE_H
#define HEW_PROF_TABLE_H

#include "base/list.h"
#include "os/mutex.h"
#include "prof/hash.h"
#include "prof/weight.h"

#define HEW_PROF_NAME_BYTES 16 /* the same length as in jemalloc and the kernel */

struct hew_prof_thread {
    struct hew_list link; /* list of all threads, by number */
    struct hew_list counters;
    uint64_t number;
    bool ended;
    char name[HEW_PROF_NAME_BYTES]; /* "" : none */
};

struct hew_prof_stack {
    struct hew_hash_link link;
    struct hew_list counters;
    struct hew_prof_totals past; /* ever allocated, from counters that have been freed */
    unsigned depth;
    uintptr_t frames[]; /* innermost first, beginning with the caller of malloc */
};

struct hew_prof_counter {
    struct hew_hash_link link;
    struct hew_list of_stack, of_thread;
    struct hew_prof_stack *stack;
    struct hew_prof_thread *thread;
    struct hew_prof_totals live, ever;
    struct hew_list records; /* live sampled objects: hew_prof_record.of_counter */
};

/* Sizes of all tables, for code that copies them. */
struct hew_prof_table_sizes {
    size_t stacks, frames, counters, threads;
};

extern struct hew_mutex hew_prof_lock;

/* Guarded by hew_prof_lock.  A reset increments it; objects counted before the reset are not subtracted when they are
 * freed. */
extern uint64_t hew_prof_generation;

/* All functions below are called under hew_prof_lock. */

/* A new thread; NULL without memory. */
struct hew_prof_thread *hew_prof_table_join(void);

/* The thread has ended. */
void hew_prof_table_leave(struct hew_prof_thread *thread);

/* Counts an object of `thread`; NULL without memory. */
struct hew_prof_counter *hew_prof_table_add(struct hew_prof_thread *thread, const uintptr_t *frames, unsigned depth,
                                            const struct hew_prof_totals *weight);

/* A counted object was freed. */
void hew_prof_table_remove(struct hew_prof_counter *counter, const struct hew_prof_totals *weight);

/* Clears all stacks and counters, and the threads that have ended. */
void hew_prof_table_reset(void);

/* In a fork's child: marks every thread except `own` as ended. */
void hew_prof_table_after_fork(struct hew_prof_thread *own);

struct hew_prof_table_sizes hew_prof_table_sizes(void);
void hew_prof_table_each_stack(void (*visit)(const struct hew_prof_stack *stack, void *context), void *context);
void hew_prof_table_each_thread(void (*visit)(const struct hew_prof_thread *thread, void *context), void *context);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * table: who allocated what: stacks, threads, and what each thread allocated from each stack.
 *
 *     stack --+-- counter (stack, thread): live and ever --+-- thread
 *             +-- counter ...                              +-- thread ...
 *
 * Owns      all of these.  A counter goes when nothing it counts is live (with prof_accum: and its thread has ended; what
 *           it counted stays with its stack), a stack with its last counter unless it has counts of its own, an ended
 *           thread with its last counter.
 * Locks     hew_prof_lock (rank: prof, outside event and meta alone) guards everything here, and what other files of this layer say it does; it is
 *           held for some look-ups only, never while a stack is walked, a file written or a hook called.
 * Not here  which objects: sample.c.
 */
#ifndef HEW_PROF_TABLE_H
#define HEW_PROF_TABLE_H

#include "base/list.h"
#include "os/mutex.h"
#include "prof/hash.h"
#include "prof/weight.h"

#define HEW_PROF_NAME_BYTES 16 /* as much as jemalloc keeps, and the kernel */

struct hew_prof_thread {
    struct hew_list link; /* all threads, in the order of their numbers */
    struct hew_list counters;
    uint64_t number;
    bool ended;
    char name[HEW_PROF_NAME_BYTES]; /* "" : none */
};

struct hew_prof_stack {
    struct hew_hash_link link;
    struct hew_list counters;
    struct hew_prof_totals past; /* ever allocated, by counters that are gone */
    unsigned depth;
    uintptr_t frames[]; /* the caller of malloc first, then outwards */
};

struct hew_prof_counter {
    struct hew_hash_link link;
    struct hew_list of_stack, of_thread;
    struct hew_prof_stack *stack;
    struct hew_prof_thread *thread;
    struct hew_prof_totals live, ever;
    struct hew_list records; /* of the sampled objects that are live: hew_prof_record.of_counter */
};

/* Sizes of everything, for those who copy it. */
struct hew_prof_table_sizes {
    size_t stacks, frames, counters, threads;
};

extern struct hew_mutex hew_prof_lock;

/* Guarded by hew_prof_lock: raised by a reset; what was counted before it is not taken off again. */
extern uint64_t hew_prof_generation;

/* All of the following under hew_prof_lock. */

/* A new thread; NULL without memory. */
struct hew_prof_thread *hew_prof_table_join(void);

/* The thread has ended. */
void hew_prof_table_leave(struct hew_prof_thread *thread);

/* Counts an object of `thread`; NULL without memory. */
struct hew_prof_counter *hew_prof_table_add(struct hew_prof_thread *thread, const uintptr_t *frames, unsigned depth,
                                            const struct hew_prof_totals *weight);

/* The object has gone. */
void hew_prof_table_remove(struct hew_prof_counter *counter, const struct hew_prof_totals *weight);

/* Forgets all stacks and counters, and threads that have ended. */
void hew_prof_table_reset(void);

/* In a fork's child: every thread but `own` has ended. */
void hew_prof_table_after_fork(struct hew_prof_thread *own);

struct hew_prof_table_sizes hew_prof_table_sizes(void);
void hew_prof_table_each_stack(void (*visit)(const struct hew_prof_stack *stack, void *context), void *context);
void hew_prof_table_each_thread(void (*visit)(const struct hew_prof_thread *thread, void *context), void *context);

#endif

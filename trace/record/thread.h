/* SPDX-License-Identifier: MIT */
/*
 * thread: writes each thread's operations into a room of the file that belongs to that thread.
 *
 * Owns      the thread's writer, in initial-exec thread data.
 * Promises  no lock and no malloc; one atomic addition for a batch.  A signal handler that interrupts a record records
 *           nothing.  A forked child, and a thread whose recording has stopped, notice by one compare.
 */
#ifndef HEW_TRACE_RECORD_THREAD_H
#define HEW_TRACE_RECORD_THREAD_H

#include "base/random.h"
#include "format/writer.h"
#include "record/cycles.h"
#include "record/file.h"
#include "record/ids.h"
#include "record/shadow.h"
#include "record/walk.h"

#define HEW_TRACE_BATCH_OPERATIONS 64
#define HEW_TRACE_BATCH_ALONE 4096 /* while no other thread draws tickets */
#define HEW_TRACE_BATCH_MICROSECONDS 100
#define HEW_TRACE_THREADS_MAX ((1u << (64 - HEW_TRACE_LG_NUMBER)) - 2)

struct hew_trace_thread {
    struct hew_trace_writer writer;
    uint64_t generation;         /* of the thread's recording */
    uint64_t base;               /* of its objects' ids */
    uint64_t deadline;           /* cycle count at which the batch ends */
    uint32_t left;               /* operations left in the batch */
    uint32_t handle;             /* of its next object */
    uint32_t handles_left;       /* in its chunk */
    uint32_t until_stack;        /* allocations until the next one with a stack; 0: stacks are off */
    uint64_t until_sample;       /* bytes until the next sampled one; 0: every allocation is recorded */
    uint64_t passed;             /* operations since the last recorded one, of a sample by bytes */
    struct hew_random random;    /* of the sample */
    uint32_t node;               /* the node that this block currently applies to allocations */
    struct hew_trace_walk *walk; /* NULL: no stack yet */
    uint32_t room;
    uint32_t rounds; /* destructor rounds so far */
    uint32_t tid;
    char name[16]; /* as it was last written */
    bool sampled;
    bool block_begins; /* its name has not been looked at since */
    bool busy;         /* inside a record, or in a call whose own allocations are not recorded */
};

extern _Thread_local struct hew_trace_thread hew_trace_thread;

/* False: not recording.  Otherwise sets the thread up for the current recording. */
HEW_COLD bool hew_trace_thread_begin(struct hew_trace_thread *thread);

/* Begins a batch, and a new block if the current one has no space for an operation; false: recording has stopped. */
HEW_NOINLINE bool hew_trace_thread_sync(struct hew_trace_thread *thread);

/* After a sampled allocation: draws the bytes until the next one. */
HEW_NOINLINE void hew_trace_thread_draw(struct hew_trace_thread *thread);

/* Writes the stack of the next allocation, if that one is sampled and its stack differs from the previous one. */
HEW_NOINLINE void hew_trace_thread_stack(struct hew_trace_thread *thread);

/* Begins an operation.  False: the caller must not record it. */
HEW_INLINE bool
hew_trace_enter(struct hew_trace_thread *thread)
{
    if (HEW_UNLIKELY(thread->busy)) {
        return false;
    }
    if (HEW_UNLIKELY(thread->generation != __atomic_load_n(&hew_trace_shared.generation, __ATOMIC_RELAXED) ||
                     thread->generation == 0) &&
        !hew_trace_thread_begin(thread)) {
        return false;
    }
    thread->busy = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return true;
}

HEW_INLINE void
hew_trace_leave(struct hew_trace_thread *thread)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread->busy = false;
}

/* Before each operation. */
HEW_INLINE bool
hew_trace_due(struct hew_trace_thread *thread)
{
    if (HEW_UNLIKELY(thread->left == 0 || hew_trace_writer_is_full(&thread->writer) ||
                     hew_trace_cycles() > thread->deadline)) {
        return hew_trace_thread_sync(thread);
    }
    thread->left--;
    return true;
}

/* Whether an allocation of this size is to be recorded: it contains a sampled byte.  One without bytes counts as one. */
HEW_INLINE bool
hew_trace_wants(struct hew_trace_thread *thread, size_t size)
{
    size += size == 0;
    if (HEW_UNLIKELY(size < thread->until_sample)) {
        thread->until_sample -= size;
        return false;
    }
    if (HEW_UNLIKELY(thread->until_sample != 0)) {
        hew_trace_thread_draw(thread);
    }
    return true;
}

/* An operation that is not recorded. */
HEW_INLINE void
hew_trace_pass(struct hew_trace_thread *thread)
{
    thread->passed += thread->until_sample != 0;
}

/* Before an operation on another thread's object: it must be in a later batch than the one that made the object. */
HEW_INLINE bool
hew_trace_due_after(struct hew_trace_thread *thread, uint64_t id)
{
    if ((id & ~((UINT64_C(1) << HEW_TRACE_LG_NUMBER) - 1)) != thread->base &&
        __atomic_load_n(&hew_trace_shared.ticket, __ATOMIC_ACQUIRE) != thread->writer.ticket) {
        return hew_trace_thread_sync(thread);
    }
    return hew_trace_due(thread);
}

#endif

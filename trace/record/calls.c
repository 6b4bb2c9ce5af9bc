/* SPDX-License-Identifier: MIT */
/* calls: see calls.h. */
#include "record/calls.h"

#include "record/large.h"
#include "record/thread.h"

#define NUMBER_OF(id) ((id) & (HEW_TRACE_LARGE - 1))
#define THREAD_OF(id) ((uint32_t)(((id) >> HEW_TRACE_LG_NUMBER) - 1 - hew_trace_shared.floor))

/* Whether the id belongs to this recording: 0 is none, and earlier recordings may have left ids. */
HEW_INLINE bool
is_current(uint64_t id)
{
    return id >> HEW_TRACE_LG_NUMBER > hew_trace_shared.floor;
}

/* The object known at this address was freed without being recorded: by a signal handler that interrupted a record, or
 * through an address that the program looked up before the recording. */
static HEW_NOINLINE void
end_unseen(struct hew_trace_thread *thread, const void *object, uint32_t handle)
{
    uint64_t id = hew_trace_ids_find(handle);

    hew_trace_ids_end(handle, 1);
    if (!is_current(id)) {
        return;
    }
    if ((id & HEW_TRACE_LARGE) != 0) {
        hew_large_take(object);
    }
    if (hew_trace_due_after(thread, id)) {
        hew_trace_write_free(&thread->writer, THREAD_OF(id), NUMBER_OF(id));
    }
}

/* The handle of the thread's object with this number.  Each object takes one, in the order of their numbers. */
HEW_INLINE uint32_t
take_handle(struct hew_trace_thread *thread, uint64_t number)
{
    if (HEW_UNLIKELY(thread->handles_left == 0)) {
        thread->handle = hew_trace_ids_take(thread->base | number, HEW_TRACE_CHUNK);
        if (thread->handle == 0) {
            hew_trace_stop(HEW_TRACE_FULL);
            return 0;
        }
        thread->handles_left = HEW_TRACE_CHUNK;
    }
    thread->handles_left--;
    return thread->handle++;
}

/* A tracked large object has a chunk of its own, whose ids have the flag. */
static HEW_NOINLINE uint32_t
large_handle(const void *object, size_t size, uint32_t handle)
{
    uint64_t id = hew_trace_ids_find(handle);
    uint32_t own = 0;

    if (hew_large_add(object, size, id)) {
        own = hew_trace_ids_take(id | HEW_TRACE_LARGE, 1);
        if (own == 0) {
            hew_large_take(object);
        }
    }
    if (own == 0) {
        return handle;
    }
    hew_trace_ids_end(handle, 1);
    return own;
}

static void
put_id(struct hew_trace_thread *thread, void *object, uint64_t number, size_t size)
{
    uint32_t *word = hew_shadow_find((uintptr_t)object), handle = take_handle(thread, number), before;

    if (HEW_UNLIKELY(word == NULL && (word = hew_shadow_open((uintptr_t)object)) == NULL)) {
        handle != 0 ? hew_trace_ids_end(handle, 1) : (void)0;
        return; /* its free will not be recorded */
    }
    before = __atomic_load_n(word, __ATOMIC_RELAXED);
    if (HEW_UNLIKELY(before != 0)) {
        end_unseen(thread, object, before);
    }
    if (HEW_UNLIKELY(size >= HEW_TRACE_LARGE_SIZE && handle != 0)) {
        handle = large_handle(object, size, handle);
    }
    __atomic_store_n(word, handle, __ATOMIC_RELAXED);
}

static void
write_touched(struct hew_trace_thread *thread, const void *object, size_t size, uint64_t id)
{
    uint64_t pages = hew_large_touched(object, size);

    if (pages != UINT64_MAX && hew_trace_due_after(thread, id)) {
        hew_trace_write_touched(&thread->writer, THREAD_OF(id), NUMBER_OF(id), pages);
    }
}

/* A large object ends or moves.  Cold: large objects are rare. */
static HEW_NOINLINE void
large_ends(struct hew_trace_thread *thread, const void *object, uint64_t id)
{
    size_t size = hew_large_take(object);

    if (size != 0) {
        write_touched(thread, object, size, id);
    }
}

/* Before an operation, in its batch: what it needs to be understood. */
HEW_INLINE void
write_passed(struct hew_trace_thread *thread)
{
    if (HEW_UNLIKELY(thread->passed != 0)) {
        hew_trace_write_passed(&thread->writer, thread->passed);
        thread->passed = 0;
    }
}

HEW_INLINE void
write_free(struct hew_trace_thread *thread, uint64_t id)
{
    if (hew_trace_due_after(thread, id)) {
        write_passed(thread);
        hew_trace_write_free(&thread->writer, THREAD_OF(id), NUMBER_OF(id));
    }
}

/* An object that is not recorded; another one at its address may have been freed unseen. */
HEW_INLINE void
pass_over(struct hew_trace_thread *thread, const void *object)
{
    uint32_t *word = hew_shadow_find((uintptr_t)object), before;

    if (word != NULL && HEW_UNLIKELY((before = __atomic_load_n(word, __ATOMIC_RELAXED)) != 0)) {
        __atomic_store_n(word, 0, __ATOMIC_RELAXED);
        end_unseen(thread, object, before);
    }
    hew_trace_pass(thread);
}

HEW_INLINE void
stack_if_due(struct hew_trace_thread *thread)
{
    if (HEW_UNLIKELY(thread->until_stack != 0)) {
        hew_trace_thread_stack(thread);
    }
}

void
hew_trace_made(void *object, unsigned code, size_t size, size_t alignment)
{
    struct hew_trace_thread *thread = &hew_trace_thread;
    uint64_t number;

    if (HEW_UNLIKELY(object == NULL) || !hew_trace_enter(thread)) {
        return;
    }
    if (!thread->sampled || !hew_trace_wants(thread, size)) {
        pass_over(thread, object);
    } else if (hew_trace_due(thread)) {
        write_passed(thread);
        stack_if_due(thread);
        number = code == HEW_TRACE_ALIGNED
                     ? hew_trace_write_aligned(&thread->writer, (unsigned)__builtin_ctzl(alignment), size)
                     : hew_trace_write_malloc(&thread->writer, code, size);
        put_id(thread, object, number, size);
    }
    hew_trace_leave(thread);
}

/* Removes and returns the handle of the object at this address, and stores its id; 0: it is not in the trace. */
HEW_INLINE uint32_t
take_id(void *object, uint64_t *id)
{
    uint32_t *word = hew_shadow_find((uintptr_t)object), handle;

    *id = 0;
    if (word == NULL || (handle = __atomic_load_n(word, __ATOMIC_RELAXED)) == 0) {
        return 0;
    }
    __atomic_store_n(word, 0, __ATOMIC_RELAXED);
    *id = hew_trace_ids_find(handle);
    if (HEW_UNLIKELY(!is_current(*id))) {
        hew_trace_ids_end(handle, 1);
        *id = 0;
        return 0;
    }
    return handle;
}

void
hew_trace_ended(void *object)
{
    struct hew_trace_thread *thread = &hew_trace_thread;
    uint64_t id;
    uint32_t handle;

    if (!hew_trace_enter(thread)) {
        return;
    }
    handle = take_id(object, &id);
    if (HEW_UNLIKELY((id & HEW_TRACE_LARGE) != 0)) {
        large_ends(thread, object, id);
    }
    if (handle != 0) {
        hew_trace_ids_end(handle, 1);
        write_free(thread, id);
    } else {
        hew_trace_pass(thread);
    }
    hew_trace_leave(thread);
}

bool
hew_trace_hush(void)
{
    struct hew_trace_thread *thread = &hew_trace_thread;
    bool hushes = !thread->busy;

    thread->busy = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return hushes;
}

void
hew_trace_unhush(bool hushed)
{
    if (hushed) {
        hew_trace_leave(&hew_trace_thread);
    }
}

bool
hew_trace_knows(const void *object)
{
    const uint32_t *word = object == NULL ? NULL : hew_shadow_find((uintptr_t)object);
    uint32_t handle = word == NULL ? 0 : __atomic_load_n(word, __ATOMIC_RELAXED);

    return handle != 0 && is_current(hew_trace_ids_find(handle));
}

uint32_t
hew_trace_before_realloc(void *object)
{
    struct hew_trace_thread *thread = &hew_trace_thread;
    uint64_t id;
    uint32_t handle;

    if (!hew_trace_enter(thread)) {
        return 0;
    }
    handle = take_id(object, &id);
    if (HEW_UNLIKELY((id & HEW_TRACE_LARGE) != 0)) {
        large_ends(thread, object, id);
    }
    hew_trace_leave(thread);
    return handle;
}

void
hew_trace_after_realloc(void *object, uint32_t handle, void *result, size_t size)
{
    struct hew_trace_thread *thread = &hew_trace_thread;
    uint64_t before;
    uint32_t *word;

    if (handle == 0) { /* not in the trace before */
        hew_trace_made(result, HEW_TRACE_MALLOC, size, 0);
        return;
    }
    if (!hew_trace_enter(thread)) {
        return;
    }
    before = hew_trace_ids_find(handle);
    if (result != NULL && hew_trace_wants(thread, size)) {
        if (hew_trace_due_after(thread, before)) {
            write_passed(thread);
            stack_if_due(thread);
            put_id(thread, result, hew_trace_write_realloc(&thread->writer, THREAD_OF(before), NUMBER_OF(before), size),
                   size);
        }
    } else if (result != NULL || size == 0) { /* outside of the sample; or it was a free */
        write_free(thread, before);
    } else if ((word = hew_shadow_find((uintptr_t)object)) != NULL) { /* it failed: the object is unchanged */
        __atomic_store_n(word, handle, __ATOMIC_RELAXED);
        handle = 0;
    }
    if (handle != 0) {
        hew_trace_ids_end(handle, 1);
    }
    hew_trace_leave(thread);
}

void
hew_trace_touched_at_end(void)
{
    struct hew_trace_thread *thread = &hew_trace_thread;
    const void *object;
    uint64_t id;
    size_t at = 0, size;

    if (hew_trace_enter(thread)) {
        while (hew_large_next(&at, &object, &size, &id)) {
            write_touched(thread, object, size, id);
        }
        if (thread->passed != 0 && hew_trace_due(thread)) {
            write_passed(thread);
        }
        hew_trace_leave(thread);
    }
}

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
end_unseen(struct hew_trace_thread *thread, const void *object, uint64_t id)
{
    if ((id & HEW_TRACE_LARGE) != 0) {
        hew_large_take(object);
    }
    if (hew_trace_due_after(thread, id)) {
        hew_trace_write_free(&thread->writer, THREAD_OF(id), NUMBER_OF(id));
    }
}

static void
put_id(struct hew_trace_thread *thread, void *object, uint64_t number, size_t size)
{
    uint64_t *word = hew_shadow_find((uintptr_t)object), id = thread->base | number, before;

    if (HEW_UNLIKELY(word == NULL)) {
        word = hew_shadow_open((uintptr_t)object);
        if (word == NULL) {
            return; /* its free will not be recorded */
        }
    }
    before = __atomic_load_n(word, __ATOMIC_RELAXED);
    if (HEW_UNLIKELY(is_current(before))) {
        end_unseen(thread, object, before);
    }
    if (HEW_UNLIKELY(size >= HEW_TRACE_LARGE_SIZE) && hew_large_add(object, size, id)) {
        id |= HEW_TRACE_LARGE;
    }
    __atomic_store_n(word, id, __ATOMIC_RELAXED);
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
    uint64_t *word = hew_shadow_find((uintptr_t)object), before;

    if (word != NULL && HEW_UNLIKELY(is_current(before = __atomic_load_n(word, __ATOMIC_RELAXED)))) {
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

/* Removes and returns the id of the object at this address; 0: it is not in the trace. */
HEW_INLINE uint64_t
take_id(void *object)
{
    uint64_t *word = hew_shadow_find((uintptr_t)object), id;

    if (word == NULL || !is_current(id = __atomic_load_n(word, __ATOMIC_RELAXED))) {
        return 0;
    }
    __atomic_store_n(word, 0, __ATOMIC_RELAXED);
    return id;
}

void
hew_trace_ended(void *object)
{
    struct hew_trace_thread *thread = &hew_trace_thread;
    uint64_t id;

    if (!hew_trace_enter(thread)) {
        return;
    }
    id = take_id(object);
    if (HEW_UNLIKELY((id & HEW_TRACE_LARGE) != 0)) {
        large_ends(thread, object, id);
    }
    if (id != 0) {
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
    const uint64_t *word = object == NULL ? NULL : hew_shadow_find((uintptr_t)object);

    return word != NULL && is_current(__atomic_load_n(word, __ATOMIC_RELAXED));
}

uint64_t
hew_trace_before_realloc(void *object)
{
    struct hew_trace_thread *thread = &hew_trace_thread;
    uint64_t id;

    if (!hew_trace_enter(thread)) {
        return 0;
    }
    id = take_id(object);
    if (HEW_UNLIKELY((id & HEW_TRACE_LARGE) != 0)) {
        large_ends(thread, object, id);
        id &= ~HEW_TRACE_LARGE;
    }
    hew_trace_leave(thread);
    return id;
}

void
hew_trace_after_realloc(void *object, uint64_t before, void *result, size_t size)
{
    struct hew_trace_thread *thread = &hew_trace_thread;
    uint64_t *word;

    if (before == 0) { /* not in the trace before */
        hew_trace_made(result, HEW_TRACE_MALLOC, size, 0);
        return;
    }
    if (!hew_trace_enter(thread)) {
        return;
    }
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
        __atomic_store_n(word, before, __ATOMIC_RELAXED);
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

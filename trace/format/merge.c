/* SPDX-License-Identifier: MIT */
/*
 * merge: all threads' operations in one order; see reader.h.
 *
 * A batch refers to no object that was made in a batch with a higher ticket, except its own (docs/trace.md).  So the
 * order of the tickets is a possible order of the operations.
 */
#include "format/live.h"
#include "format/reader.h"

#include <stdlib.h>

static uint64_t
ticket_of(const struct hew_trace_merge *merge, uint32_t place)
{
    return merge->cursors[merge->heap[place]].ticket;
}

static void
swap(uint32_t *heap, uint32_t a, uint32_t b)
{
    uint32_t thread = heap[a];

    heap[a] = heap[b];
    heap[b] = thread;
}

/* Restores the heap after its first element got a higher ticket. */
static void
sift_first(struct hew_trace_merge *merge)
{
    uint32_t place = 0;

    for (;;) {
        uint32_t lowest = place, child = place * 2 + 1;
        for (uint32_t i = child; i < child + 2 && i < merge->count; i++) {
            lowest = ticket_of(merge, i) < ticket_of(merge, lowest) ? i : lowest;
        }
        if (lowest == place) {
            return;
        }
        swap(merge->heap, lowest, place);
        place = lowest;
    }
}

static void
add_thread(struct hew_trace_merge *merge, uint32_t thread)
{
    uint32_t place = merge->count++;

    merge->heap[place] = thread;
    while (place > 0 && ticket_of(merge, place) < ticket_of(merge, (place - 1) / 2)) {
        swap(merge->heap, place, (place - 1) / 2);
        place = (place - 1) / 2;
    }
}

bool
hew_trace_merge_begin_bare(struct hew_trace_merge *merge, const struct hew_trace *trace)
{
    *merge = (struct hew_trace_merge){0};
    merge->cursors = calloc(trace->thread_count + 1, sizeof(*merge->cursors));
    merge->heap = calloc(trace->thread_count + 1, sizeof(*merge->heap));
    if (merge->cursors == NULL || merge->heap == NULL) {
        hew_trace_merge_end(merge);
        return false;
    }
    for (uint32_t thread = 0; thread < trace->thread_count; thread++) {
        struct hew_trace_operation first;
        hew_trace_cursor_begin(&merge->cursors[thread], trace, thread);
        /* Blocks begin with a SYNC.  A damaged block's first operation is lost. */
        if (hew_trace_cursor_next(&merge->cursors[thread], &first)) {
            merge->unknown += first.kind != HEW_TRACE_DID_SYNC;
            add_thread(merge, thread);
        }
    }
    return true;
}

bool
hew_trace_merge_begin(struct hew_trace_merge *merge, const struct hew_trace *trace)
{
    if (!hew_trace_merge_begin_bare(merge, trace)) {
        return false;
    }
    merge->live = hew_trace_live_new();
    if (merge->live == NULL) {
        hew_trace_merge_end(merge);
        return false;
    }
    return true;
}

/* Finds the ended object's slot and size; false: the object is not live. */
static bool
end_object(struct hew_trace_merge *merge, struct hew_trace_operation *operation)
{
    return hew_trace_live_take(merge->live, operation->ended, &operation->ended_slot, &operation->ended_size);
}

/* Fills in the fields that only the merge knows; false: the operation is left out. */
static bool
complete(struct hew_trace_merge *merge, struct hew_trace_operation *operation)
{
    switch (operation->kind) {
    case HEW_TRACE_DID_FREE:
        if (!end_object(merge, operation)) {
            merge->unknown++;
            return false;
        }
        operation->slot = operation->ended_slot;
        break;
    case HEW_TRACE_DID_REALLOCATE:
        if (!end_object(merge, operation)) {
            merge->unknown++;
            operation->kind = HEW_TRACE_DID_ALLOCATE;
        }
        /* fallthrough */
    case HEW_TRACE_DID_ALLOCATE:
        if (!hew_trace_live_add(merge->live, operation->made, operation->size, &operation->slot)) {
            merge->failed = true;
            return false;
        }
        break;
    default:
        return true;
    }
    merge->operations++;
    return true;
}

bool
hew_trace_merge_next(struct hew_trace_merge *merge, struct hew_trace_operation *operation)
{
    while (merge->count > 0 && !merge->failed) {
        struct hew_trace_cursor *cursor = &merge->cursors[merge->heap[0]];
        if (!merge->running) {
            merge->running = true;
            operation->kind = HEW_TRACE_DID_SYNC;
            operation->thread = cursor->thread;
            operation->ticket = cursor->ticket;
            operation->time = cursor->time;
            operation->passed = cursor->passed;
            return true;
        }
        if (!hew_trace_cursor_next(cursor, operation)) {
            merge->heap[0] = merge->heap[--merge->count];
            merge->running = false;
            sift_first(merge);
        } else if (operation->kind == HEW_TRACE_DID_SYNC) {
            merge->running = false;
            sift_first(merge);
        } else if (merge->live == NULL || complete(merge, operation)) {
            return true;
        }
    }
    return false;
}

void
hew_trace_merge_end(struct hew_trace_merge *merge)
{
    free(merge->cursors);
    free(merge->heap);
    hew_trace_live_free(merge->live);
    merge->cursors = NULL;
    merge->heap = NULL;
    merge->live = NULL;
    merge->count = 0;
}

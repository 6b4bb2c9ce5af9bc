/* SPDX-License-Identifier: MIT */
/* cursor: one thread's operations; see reader.h.  Each read is bounded by the block's end. */
#include "format/reader.h"

static void
enter_part(struct hew_trace_cursor *cursor)
{
    if (cursor->part == cursor->last) {
        cursor->at = cursor->end = NULL;
        return;
    }
    cursor->at = cursor->part->payload;
    cursor->end = cursor->at + cursor->part->size;
    cursor->number = cursor->part->number;
    cursor->ticket = cursor->part->ticket;
    cursor->time = cursor->part->time;
    cursor->node = 0;
}

void
hew_trace_cursor_begin(struct hew_trace_cursor *cursor, const struct hew_trace *trace, uint32_t thread)
{
    size_t low = 0, high = trace->part_count;

    while (low < high) { /* the thread's first block */
        size_t middle = low + (high - low) / 2;
        if (trace->parts[middle].thread < thread) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *cursor = (struct hew_trace_cursor){.trace = trace, .part = trace->parts + low, .thread = thread};
    while (low < trace->part_count && trace->parts[low].thread == thread) {
        low++;
    }
    cursor->last = trace->parts + low;
    enter_part(cursor);
}

static bool
get(struct hew_trace_cursor *cursor, unsigned bits, uint64_t *value)
{
    return hew_trace_get_number(&cursor->at, cursor->end, bits, value);
}

static bool
get_stack(struct hew_trace_cursor *cursor, struct hew_trace_operation *operation)
{
    uint64_t count, frame = 0;

    if (!get(cursor, 8, &count) || count > HEW_TRACE_STACK_MAX) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t step;
        if (!get(cursor, 8, &step)) {
            return false;
        }
        frame += (step >> 1) ^ (0 - (step & 1));
        operation->frames[i] = frame;
    }
    operation->frame_count = (uint32_t)count;
    operation->kind = HEW_TRACE_DID_STACK;
    return true;
}

uint32_t
hew_trace_thread_of_file(const struct hew_trace *trace, uint32_t name)
{
    uint32_t low = 0, high = trace->thread_count;

    if (trace->names == NULL || (name < high && trace->names[name] == name)) {
        return name;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (trace->names[middle] < name) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < trace->thread_count && trace->names[low] == name ? low : UINT32_MAX;
}

static bool
get_touched(struct hew_trace_cursor *cursor, struct hew_trace_operation *operation)
{
    uint64_t thread, number;

    if (!get(cursor, 8, &thread) || !get(cursor, 8, &number) || !get(cursor, 8, &operation->size) ||
        thread > UINT32_MAX) {
        return false;
    }
    operation->ended = (struct hew_trace_object){hew_trace_thread_of_file(cursor->trace, (uint32_t)thread), number};
    operation->kind = HEW_TRACE_DID_TOUCH;
    return true;
}

/* The stack of the following allocations; a node that is in no block counts as no stack. */
static bool
get_node(struct hew_trace_cursor *cursor, struct hew_trace_operation *operation)
{
    uint64_t node;

    if (!get(cursor, 8, &node)) {
        return false;
    }
    operation->node = cursor->node = node < cursor->trace->node_count ? (uint32_t)node : 0;
    operation->kind = HEW_TRACE_DID_NODE;
    return true;
}

static bool
get_name(struct hew_trace_cursor *cursor, struct hew_trace_operation *operation)
{
    uint64_t length;

    if (!get(cursor, 8, &operation->size) || !get(cursor, 8, &length) || length > HEW_TRACE_NAME_MAX ||
        length > (size_t)(cursor->end - cursor->at)) {
        return false;
    }
    memset(operation->name, 0, sizeof(operation->name));
    memcpy(operation->name, cursor->at, length);
    cursor->at += length;
    operation->kind = HEW_TRACE_DID_NAME;
    return true;
}

static bool
get_passed(struct hew_trace_cursor *cursor, struct hew_trace_operation *operation)
{
    uint64_t count;

    if (!get(cursor, 8, &count)) {
        return false;
    }
    cursor->passed += count;
    operation->kind = HEW_TRACE_DID_PASS;
    return true;
}

/* False: damaged, or END. */
static bool
get_control(struct hew_trace_cursor *cursor, struct hew_trace_operation *operation)
{
    uint64_t ticket, time;

    switch (*cursor->at++ >> 3) {
    case HEW_TRACE_SYNC:
        if (!get(cursor, 8, &ticket) || !get(cursor, 8, &time)) {
            return false;
        }
        cursor->ticket += ticket;
        cursor->time += time;
        operation->kind = HEW_TRACE_DID_SYNC;
        return true;
    case HEW_TRACE_EXIT:
        operation->kind = HEW_TRACE_DID_EXIT;
        return true;
    case HEW_TRACE_STACK:
        return get_stack(cursor, operation);
    case HEW_TRACE_TOUCHED:
        return get_touched(cursor, operation);
    case HEW_TRACE_NODE:
        return get_node(cursor, operation);
    case HEW_TRACE_NAME:
        return get_name(cursor, operation);
    case HEW_TRACE_PASSED:
        return get_passed(cursor, operation);
    default:
        return false;
    }
}

/* The object that ends: given by its distance from the thread's next number, or by thread and number. */
static bool
get_ended(struct hew_trace_cursor *cursor, bool other, struct hew_trace_object *object)
{
    uint64_t first, number;

    if (!get(cursor, 5, &first)) {
        return false;
    }
    if (!other) {
        *object = (struct hew_trace_object){cursor->thread, cursor->number - first};
        return first > 0 && first <= cursor->number;
    }
    if (!get(cursor, 8, &number) || first > UINT32_MAX) {
        return false;
    }
    *object = (struct hew_trace_object){hew_trace_thread_of_file(cursor->trace, (uint32_t)first), number};
    return true;
}

static bool
get_made(struct hew_trace_cursor *cursor, unsigned bits, struct hew_trace_operation *operation)
{
    operation->made = (struct hew_trace_object){cursor->thread, cursor->number};
    operation->node = cursor->node;
    if (!get(cursor, bits, &operation->size)) {
        return false;
    }
    cursor->number++;
    return true;
}

static bool
get_operation(struct hew_trace_cursor *cursor, struct hew_trace_operation *operation)
{
    unsigned code = *cursor->at & 7;
    uint64_t lg_align;

    switch (code) {
    case HEW_TRACE_CONTROL:
        return get_control(cursor, operation);
    case HEW_TRACE_MALLOC:
    case HEW_TRACE_CALLOC:
        operation->kind = HEW_TRACE_DID_ALLOCATE;
        operation->zeroed = code == HEW_TRACE_CALLOC;
        return get_made(cursor, 5, operation);
    case HEW_TRACE_ALIGNED:
        operation->kind = HEW_TRACE_DID_ALLOCATE;
        if (!get(cursor, 5, &lg_align) || lg_align > HEW_TRACE_LG_ALIGN_MAX) {
            return false;
        }
        operation->lg_align = (uint8_t)lg_align;
        return get_made(cursor, 8, operation);
    case HEW_TRACE_FREE:
    case HEW_TRACE_FREE_OTHER:
        operation->kind = HEW_TRACE_DID_FREE;
        return get_ended(cursor, code == HEW_TRACE_FREE_OTHER, &operation->ended);
    default:
        operation->kind = HEW_TRACE_DID_REALLOCATE;
        return get_ended(cursor, code == HEW_TRACE_REALLOC_OTHER, &operation->ended) && get_made(cursor, 8, operation);
    }
}

bool
hew_trace_cursor_next(struct hew_trace_cursor *cursor, struct hew_trace_operation *operation)
{
    while (cursor->part != cursor->last) {
        if (cursor->at < cursor->end && *cursor->at != HEW_TRACE_END) {
            operation->zeroed = false;
            operation->lg_align = 0;
            operation->thread = cursor->thread;
            if (get_operation(cursor, operation)) {
                operation->ticket = cursor->ticket;
                operation->time = cursor->time;
                operation->passed = cursor->passed;
                return true;
            }
            cursor->faults++;
        }
        cursor->part++;
        enter_part(cursor);
    }
    return false;
}

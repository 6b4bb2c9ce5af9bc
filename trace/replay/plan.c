/* SPDX-License-Identifier: MIT */
/*
 * plan: see plan.h.  Two passes over each thread's blocks count operations and find the objects that pass between
 * threads.  A third pass merges all threads in one order.
 */
#include "replay/plan.h"

#include "replay/slots.h"
#include "replay/touched.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PAGE 4096

struct counted {
    uint64_t operations;
    uint64_t batches;
    uint64_t allocations;
    uint64_t touches; /* records of touched pages for its objects, from any thread */
    uint8_t *handed;  /* one bit for each allocation */
};

struct object {
    uint32_t slot;
    bool handed;
};

struct maker {
    const struct hew_trace *trace;
    struct hew_plan *plan;
    struct counted *counted;
    struct hew_plan_thread *threads;
    uint64_t **at;          /* by thread: position of its next word */
    struct object *objects; /* by the merge's slot */
    size_t object_count;
    struct hew_slots slots;
    struct hew_touched touched;
    uint64_t live_bytes, live_objects;
    uint32_t window;
    uint8_t *bytes;
    size_t size;
};

static bool
fails(char why[HEW_TRACE_WHY], const char *text)
{
    snprintf(why, HEW_TRACE_WHY, "%s", text);
    return false;
}

/* Counts each thread's operations, and the highest object number, so that gaps of a damaged trace are included. */
static void
count(struct maker *maker)
{
    for (uint32_t thread = 0; thread < maker->trace->thread_count; thread++) {
        struct counted *counted = &maker->counted[thread];
        struct hew_trace_cursor cursor;
        struct hew_trace_operation operation;
        hew_trace_cursor_begin(&cursor, maker->trace, thread);
        while (hew_trace_cursor_next(&cursor, &operation)) {
            counted->batches += operation.kind == HEW_TRACE_DID_SYNC;
            counted->operations++;
        }
        counted->batches++; /* a block without a SYNC at its start counts as a batch too */
        counted->allocations = cursor.number;
    }
}

/* Notes whether an operation passes its object to another thread, or records touched pages.  False: no memory. */
static bool
look_at(struct maker *maker, const struct hew_trace_operation *operation)
{
    struct hew_trace_object object = operation->ended;
    bool ends = operation->kind == HEW_TRACE_DID_FREE || operation->kind == HEW_TRACE_DID_REALLOCATE;
    struct counted *counted;

    if ((!ends && operation->kind != HEW_TRACE_DID_TOUCH) || object.thread >= maker->trace->thread_count) {
        return true;
    }
    counted = &maker->counted[object.thread];
    if (!ends) {
        counted->touches++;
        return hew_touched_add(&maker->touched, object, operation->size);
    }
    if (object.thread != operation->thread && object.number < counted->allocations) {
        counted->handed[object.number / 8] |= (uint8_t)(1u << object.number % 8);
    }
    return true;
}

/* One bit for each allocation.  Numbers beyond what the file could hold come from damaged headers, and count as passed
 * to another thread. */
static bool
find_handed(struct maker *maker)
{
    for (uint32_t thread = 0; thread < maker->trace->thread_count; thread++) {
        struct counted *counted = &maker->counted[thread];
        counted->allocations = counted->allocations < maker->trace->size ? counted->allocations : maker->trace->size;
        counted->handed = calloc(counted->allocations / 8 + 1, 1);
        if (counted->handed == NULL) {
            return false;
        }
    }
    for (uint32_t thread = 0; thread < maker->trace->thread_count; thread++) {
        struct hew_trace_cursor cursor;
        struct hew_trace_operation operation;
        hew_trace_cursor_begin(&cursor, maker->trace, thread);
        while (hew_trace_cursor_next(&cursor, &operation)) {
            if (!look_at(maker, &operation)) {
                return false;
            }
        }
    }
    hew_touched_sort(&maker->touched);
    return true;
}

static bool
is_handed(const struct maker *maker, struct hew_trace_object object)
{
    const struct counted *counted = &maker->counted[object.thread];

    return object.number >= counted->allocations || (counted->handed[object.number / 8] >> object.number % 8 & 1) != 0;
}

/* Checked here, because a full disk would be a SIGBUS later. */
static bool
has_room(const struct maker *maker, int file)
{
    struct statvfs disk;
    uint64_t words = 0;

    for (uint32_t thread = 0; thread < maker->plan->threads; thread++) {
        words += maker->counted[thread].operations * 3 + maker->counted[thread].batches * 2 + /* most: a realloc */
                 maker->counted[thread].touches;
    }
    if (fstatvfs(file, &disk) == 0 && words * sizeof(uint64_t) / disk.f_frsize >= disk.f_bavail) {
        errno = ENOSPC;
        return false;
    }
    return true;
}

/* Lays out the file with a maximum-size region for each thread; unused parts stay holes. */
static bool
lay_out(struct maker *maker, int file)
{
    struct hew_plan *plan = maker->plan;
    uint64_t offset = sizeof(*plan) + plan->threads * sizeof(struct hew_plan_thread);

    for (uint32_t thread = 0; thread < plan->threads; thread++) {
        const struct counted *counted = &maker->counted[thread];
        offset = (offset + PAGE - 1) / PAGE * PAGE;
        maker->threads[thread].offset = offset;
        maker->threads[thread].first_window = UINT32_MAX;
        offset += (counted->operations * 3 + counted->batches * 2 + counted->touches + 2) * sizeof(uint64_t);
    }
    if (!has_room(maker, file) || ftruncate(file, (off_t)offset) != 0) {
        return false;
    }
    maker->size = offset;
    maker->bytes = mmap(NULL, offset, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (maker->bytes == MAP_FAILED) {
        maker->bytes = NULL;
        return false;
    }
    for (uint32_t thread = 0; thread < plan->threads; thread++) {
        maker->at[thread] = (uint64_t *)(maker->bytes + maker->threads[thread].offset);
    }
    return true;
}

static void
put(struct maker *maker, uint32_t thread, uint64_t word)
{
    *maker->at[thread]++ = word;
}

static struct object *
object_at(struct maker *maker, uint64_t slot)
{
    if (slot >= maker->object_count) {
        size_t more = slot < 1024 ? 2048 : slot * 2;
        struct object *objects = realloc(maker->objects, more * sizeof(*objects));
        if (objects == NULL) {
            return NULL;
        }
        maker->objects = objects;
        maker->object_count = more;
    }
    return &maker->objects[slot];
}

static void
put_batch(struct maker *maker, const struct hew_trace_operation *operation)
{
    struct hew_plan *plan = maker->plan;
    struct hew_plan_thread *thread = &maker->threads[operation->thread];

    maker->window = (uint32_t)(plan->batches++ / plan->window_batches);
    thread->first_window = maker->window < thread->first_window ? maker->window : thread->first_window;
    plan->microseconds = operation->time > plan->microseconds ? operation->time : plan->microseconds;
    put(maker, operation->thread, HEW_PLAN_WORD(HEW_PLAN_BATCH, 0, maker->window));
    put(maker, operation->thread, operation->time);
}

static void
put_sizes(struct maker *maker, const struct hew_trace_operation *operation, bool old)
{
    uint32_t pages;
    uint64_t above = operation->size >> 32, above_old = old ? operation->ended_size >> 32 : 0;

    if (above != 0 || above_old != 0) {
        above_old = above_old < HEW_PLAN_SLOTS ? above_old : HEW_PLAN_SLOTS - 1;
        put(maker, operation->thread, HEW_PLAN_WORD(HEW_PLAN_LARGE, above_old, above));
    }
    if (hew_touched_take(&maker->touched, operation->made, &pages)) {
        put(maker, operation->thread, HEW_PLAN_WORD(HEW_PLAN_TOUCH, 0, pages));
    }
}

/* Assigns a slot to a made object.  False: none left. */
static bool
make_object(struct maker *maker, const struct hew_trace_operation *operation, struct object **made)
{
    struct hew_plan *plan = maker->plan;
    struct object *object = object_at(maker, operation->slot);

    if (object == NULL) {
        return false;
    }
    object->handed = is_handed(maker, operation->made);
    plan->allocations++;
    plan->requested += operation->size;
    maker->live_bytes += operation->size;
    maker->live_objects++;
    plan->live_bytes = maker->live_bytes > plan->live_bytes ? maker->live_bytes : plan->live_bytes;
    plan->live_objects = maker->live_objects > plan->live_objects ? maker->live_objects : plan->live_objects;
    *made = object;
    return hew_slots_take(&maker->slots, operation->thread, object->handed, maker->window, &object->slot);
}

static struct object
end_object(struct maker *maker, const struct hew_trace_operation *operation)
{
    struct object object = maker->objects[operation->ended_slot];

    maker->live_bytes -= operation->ended_size;
    maker->live_objects--;
    hew_slots_give(&maker->slots, operation->thread, object.handed, maker->window, object.slot);
    return object;
}

static uint64_t
word_of(enum hew_plan_kind kind, const struct object *object, uint64_t value)
{
    return HEW_PLAN_WORD(kind, object->slot, (uint32_t)value) | (object->handed ? HEW_PLAN_HANDED : 0);
}

static bool
put_operation(struct maker *maker, const struct hew_trace_operation *operation)
{
    struct object *made, ended;
    uint32_t thread = operation->thread;

    switch (operation->kind) {
    case HEW_TRACE_DID_SYNC:
        put_batch(maker, operation);
        return true;
    case HEW_TRACE_DID_FREE:
        ended = end_object(maker, operation);
        put(maker, thread, word_of(HEW_PLAN_FREE, &ended, 0));
        return true;
    case HEW_TRACE_DID_ALLOCATE:
        if (!make_object(maker, operation, &made)) {
            return false;
        }
        put_sizes(maker, operation, false);
        put(maker, thread,
            word_of(operation->lg_align != 0 ? HEW_PLAN_ALIGNED
                    : operation->zeroed      ? HEW_PLAN_CALLOC
                                             : HEW_PLAN_MALLOC,
                    made, operation->size));
        if (operation->lg_align != 0) {
            put(maker, thread, UINT64_C(1) << operation->lg_align);
        }
        return true;
    case HEW_TRACE_DID_REALLOCATE:
        ended = end_object(maker, operation);
        if (!make_object(maker, operation, &made)) {
            return false;
        }
        put_sizes(maker, operation, true);
        put(maker, thread, word_of(HEW_PLAN_REALLOC, &ended, operation->size));
        put(maker, thread, word_of(HEW_PLAN_END, made, operation->ended_size));
        return true;
    default:
        return true;
    }
}

static bool
put_all(struct maker *maker, char why[HEW_TRACE_WHY])
{
    struct hew_trace_merge merge;
    struct hew_trace_operation operation;
    bool done = true;

    if (!hew_trace_merge_begin(&merge, maker->trace)) {
        return fails(why, "no memory for its threads");
    }
    while (done && hew_trace_merge_next(&merge, &operation)) {
        done = put_operation(maker, &operation);
    }
    maker->plan->operations = merge.operations;
    maker->plan->unknown = merge.unknown;
    done = done && !merge.failed;
    hew_trace_merge_end(&merge);
    return done || fails(why, "too many objects live at once: no memory, or more than 2^27");
}

static int
by_first_window(const void *left, const void *right)
{
    const struct hew_plan_thread *a = left, *b = right;

    if (a->first_window != b->first_window) {
        return a->first_window < b->first_window ? -1 : 1;
    }
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void
finish(struct maker *maker)
{
    struct hew_plan *plan = maker->plan;
    struct hew_plan_thread *threads = (struct hew_plan_thread *)(maker->bytes + sizeof(*plan));

    for (uint32_t thread = 0; thread < plan->threads; thread++) {
        *maker->at[thread]++ = HEW_PLAN_END;
        maker->threads[thread].words =
            (uint64_t)(maker->at[thread] - (uint64_t *)(maker->bytes + maker->threads[thread].offset));
    }
    plan->windows = (uint32_t)((plan->batches + plan->window_batches - 1) / plan->window_batches);
    plan->last_window_batches =
        (uint32_t)(plan->batches - (uint64_t)(plan->windows - (plan->windows > 0)) * plan->window_batches);
    plan->slots = maker->slots.count;
    memcpy(threads, maker->threads, plan->threads * sizeof(*threads));
    if (plan->threads > 1) { /* the program's first thread stays first: main() runs it */
        qsort(threads + 1, plan->threads - 1, sizeof(*threads), by_first_window);
    }
    memcpy(maker->bytes, plan, sizeof(*plan));
}

static bool
make(struct maker *maker, int file, char why[HEW_TRACE_WHY])
{
    struct hew_plan *plan = maker->plan;

    maker->counted = calloc(plan->threads + 1, sizeof(*maker->counted));
    maker->threads = calloc(plan->threads + 1, sizeof(*maker->threads));
    maker->at = calloc(plan->threads + 1, sizeof(*maker->at));
    if (maker->counted == NULL || maker->threads == NULL || maker->at == NULL ||
        !hew_slots_begin(&maker->slots, plan->threads + 1)) {
        return fails(why, "no memory for its threads");
    }
    count(maker);
    if (!find_handed(maker)) {
        return fails(why, "no memory for its objects");
    }
    if (!lay_out(maker, file)) {
        snprintf(why, HEW_TRACE_WHY, "the plan of it cannot be written: %s", strerror(errno));
        return false;
    }
    if (!put_all(maker, why)) {
        return false;
    }
    finish(maker);
    return true;
}

bool
hew_plan_make(const struct hew_trace *trace, int file, struct hew_plan *plan, char why[HEW_TRACE_WHY])
{
    struct maker maker = {.trace = trace, .plan = plan};
    bool made;

    *plan = (struct hew_plan){
        .magic = HEW_PLAN_MAGIC,
        .threads = trace->thread_count,
        .window_batches = trace->thread_count * 8 < 32     ? 32
                          : trace->thread_count * 8 > 1024 ? 1024
                                                           : trace->thread_count * 8,
        .damaged = trace->damaged,
        .missing = trace->missing,
        .cut_off = trace->cut_off,
        .flags = trace->header.flags,
    };
    made = make(&maker, file, why);
    for (uint32_t thread = 0; maker.counted != NULL && thread < plan->threads; thread++) {
        free(maker.counted[thread].handed);
    }
    free(maker.counted);
    free(maker.threads);
    free(maker.at);
    free(maker.objects);
    hew_slots_end(&maker.slots);
    hew_touched_end(&maker.touched);
    if (maker.bytes != NULL) {
        munmap(maker.bytes, maker.size);
    }
    return made;
}

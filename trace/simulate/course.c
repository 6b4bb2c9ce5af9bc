/* SPDX-License-Identifier: MIT */
/* course: see course.h. */
#include "simulate/course.h"

#include <stdlib.h>
#include <string.h>

bool
course_add(struct course *course, struct policy *policy)
{
    struct course_runner *runner = &course->runners[course->count];

    if (policy == NULL || course->count == COURSE_POLICIES) {
        return false;
    }
    *runner = (struct course_runner){.policy = policy, .samples = calloc(COURSE_SAMPLES, sizeof(*runner->samples))};
    course->count++;
    course->stride = course->stride != 0 ? course->stride : 1;
    return runner->samples != NULL && residence_begin(&runner->residence);
}

void
course_end(struct course *course)
{
    for (size_t at = 0; at < course->count; at++) {
        struct course_runner *runner = &course->runners[at];
        runner->policy->methods->end(runner->policy);
        residence_end(&runner->residence);
        free(runner->places);
        free(runner->samples);
    }
    course->count = 0;
}

static bool
make_room(struct course_runner *runner, uint64_t slot)
{
    uint64_t room = runner->room != 0 ? runner->room : 1024;
    struct policy_place *places;

    if (slot < runner->room) {
        return true;
    }
    while (room <= slot) {
        room *= 2;
    }
    places = realloc(runner->places, room * sizeof(*places));
    if (places == NULL) {
        return false;
    }
    memset(places + runner->room, 0, (room - runner->room) * sizeof(*places));
    runner->places = places;
    runner->room = room;
    return true;
}

static bool
take(struct course_runner *runner, uint64_t slot, uint64_t size, uint64_t align)
{
    struct policy_place place;

    if (!make_room(runner, slot) || !runner->policy->methods->take(runner->policy, size, align, &place) ||
        !residence_use(&runner->residence, place.address, place.room)) {
        return false;
    }
    runner->places[slot] = place;
    runner->now.gross += place.gross;
    return true;
}

static bool
give(struct course_runner *runner, struct policy_place place)
{
    if (place.gross == 0) { /* the request was left out */
        return true;
    }
    runner->now.gross -= place.gross;
    residence_leave(&runner->residence, place.address, place.room);
    return runner->policy->methods->give(runner->policy, &place);
}

static bool
forget(struct course_runner *runner, uint64_t slot, struct policy_place *place)
{
    if (slot >= runner->room) {
        return false;
    }
    *place = runner->places[slot];
    runner->places[slot].gross = 0;
    return true;
}

/* An object stays if it still fits and would leave less than half of its place empty.  Otherwise the new one is
 * allocated before the old one is freed. */
static bool
resize(struct course_runner *runner, const struct hew_trace_operation *operation)
{
    struct policy_place old = {0};

    forget(runner, operation->ended_slot, &old);
    if (old.gross != 0 && operation->size <= old.room && operation->size >= old.room / 2) {
        if (!make_room(runner, operation->slot)) {
            return false;
        }
        runner->places[operation->slot] = old;
        return true;
    }
    return (operation->size > POLICY_SIZE_MAX || take(runner, operation->slot, operation->size, POLICY_QUANTUM)) &&
           give(runner, old);
}

static bool
apply(struct course_runner *runner, const struct hew_trace_operation *operation)
{
    unsigned lg = operation->lg_align > POLICY_LG_ALIGN_MAX ? POLICY_LG_ALIGN_MAX : operation->lg_align;
    uint64_t align = lg > 4 ? UINT64_C(1) << lg : POLICY_QUANTUM;
    struct policy_place old;

    switch (operation->kind) {
    case HEW_TRACE_DID_ALLOCATE:
        return operation->size > POLICY_SIZE_MAX || take(runner, operation->slot, operation->size, align);
    case HEW_TRACE_DID_FREE:
        return !forget(runner, operation->ended_slot, &old) || give(runner, old);
    default:
        return resize(runner, operation);
    }
}

static void
measure(struct course_runner *runner, const struct course_moment *now)
{
    runner->now.heap = runner->policy->heap;
    runner->now.resident = runner->residence.pages * POLICY_PAGE;
    runner->gross_sum += (double)runner->now.gross;
    runner->heap_sum += (double)runner->now.heap;
    runner->resident_sum += (double)runner->now.resident;
    if (runner->peak_heap < runner->now.heap) {
        runner->peak_heap = runner->now.heap;
        runner->live_at_peak = now->live;
        runner->gross_at_peak = runner->now.gross;
    }
    if (runner->peak_resident < runner->now.resident) {
        runner->peak_resident = runner->now.resident;
    }
}

/* When all samples are used, every second one is dropped, and the stride doubles. */
static void
sample(struct course *course)
{
    if (course->samples == COURSE_SAMPLES) {
        course->samples /= 2;
        course->stride *= 2;
        for (size_t at = 0; at < course->samples; at++) {
            course->moments[at] = course->moments[2 * at + 1];
            for (size_t one = 0; one < course->count; one++) {
                course->runners[one].samples[at] = course->runners[one].samples[2 * at + 1];
            }
        }
        if (course->now.operation % course->stride != 0) {
            return;
        }
    }
    course->moments[course->samples] = course->now;
    for (size_t one = 0; one < course->count; one++) {
        course->runners[one].samples[course->samples] = course->runners[one].now;
    }
    course->samples++;
}

static void
count(struct course *course, const struct hew_trace_operation *operation)
{
    struct course_moment *now = &course->now;

    now->operation++;
    now->microseconds = operation->time > now->microseconds ? operation->time : now->microseconds;
    if (operation->kind != HEW_TRACE_DID_ALLOCATE && operation->ended_size <= POLICY_SIZE_MAX) {
        now->live -= operation->ended_size;
        now->objects--;
    }
    course->reallocations += operation->kind == HEW_TRACE_DID_REALLOCATE;
    if (operation->kind != HEW_TRACE_DID_FREE) {
        if (operation->size > POLICY_SIZE_MAX) {
            course->left_out++;
        } else {
            now->live += operation->size;
            now->objects++;
            course->allocated += operation->size;
            course->largest = operation->size > course->largest ? operation->size : course->largest;
        }
    }
    course->peak_live = now->live > course->peak_live ? now->live : course->peak_live;
    course->live_sum += (double)now->live;
}

void
course_take(struct course *course, const struct hew_trace_operation *operation)
{
    if (operation->kind != HEW_TRACE_DID_ALLOCATE && operation->kind != HEW_TRACE_DID_FREE &&
        operation->kind != HEW_TRACE_DID_REALLOCATE) {
        return;
    }
    count(course, operation);
    for (size_t at = 0; at < course->count; at++) {
        struct course_runner *runner = &course->runners[at];
        if (!runner->failed) {
            runner->failed = !apply(runner, operation);
            measure(runner, &course->now);
        }
    }
    if (course->now.operation % course->stride == 0) {
        sample(course);
    }
}

void
course_finish(struct course *course)
{
    if (course->samples == 0 || course->moments[course->samples - 1].operation != course->now.operation) {
        if (course->samples == COURSE_SAMPLES) {
            course->samples--;
        }
        course->stride = 1;
        sample(course);
    }
}

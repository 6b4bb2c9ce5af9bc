/* SPDX-License-Identifier: MIT */
/* state: see state.h. */
#include "profile/state.h"

#include <math.h>
#include <stdlib.h>

unsigned
profile_power(uint64_t value)
{
    return value == 0 ? 0 : 64u - (unsigned)__builtin_clzll(value);
}

bool
profile_state_begin(struct profile_state *state, const struct hew_trace *trace, uint64_t within)
{
    size_t nodes = (size_t)trace->node_count + 1;

    *state = (struct profile_state){.trace = trace, .within = within};
    state->unit = trace->header.sample_bytes > 1 ? PROFILE_UNIT : 1;
    state->accounts = calloc(nodes, sizeof(*state->accounts));
    state->changed = calloc(nodes, sizeof(*state->changed));
    state->operations_of = calloc((size_t)trace->thread_count + 1, sizeof(*state->operations_of));
    state->passed_of = calloc((size_t)trace->thread_count + 1, sizeof(*state->passed_of));
    state->named = calloc((size_t)trace->thread_count + 1, sizeof(*state->named));
    if (state->accounts == NULL || state->changed == NULL || state->operations_of == NULL || state->passed_of == NULL ||
        state->named == NULL || !hew_trace_table_begin(&state->objects, sizeof(struct profile_object))) {
        profile_state_end(state);
        return false;
    }
    return true;
}

void
profile_state_end(struct profile_state *state)
{
    free(state->accounts);
    free(state->changed);
    free(state->operations_of);
    free(state->passed_of);
    free(state->named);
    hew_trace_table_end(&state->objects);
    free(state->lost);
    *state = (struct profile_state){0};
}

/* What an object of this size stands for. */
static struct profile_sum
weight(const struct profile_state *state, uint64_t size)
{
    double bytes = size == 0 ? 1 : (double)size, chance;

    if (state->unit == 1) {
        return (struct profile_sum){1, size};
    }
    chance = -expm1(-bytes / (double)state->trace->header.sample_bytes);
    return (struct profile_sum){(uint64_t)((double)PROFILE_UNIT / chance + 0.5),
                                (uint64_t)((double)size / chance + 0.5)};
}

static void
add(struct profile_sum *sum, struct profile_sum more)
{
    sum->count += more.count;
    sum->bytes += more.bytes;
}

static void
subtract(struct profile_sum *sum, struct profile_sum less)
{
    sum->count -= less.count;
    sum->bytes -= less.bytes;
}

/* Operations of a thread so far, recorded or not. */
static uint64_t
operations_of(const struct profile_state *state, uint32_t thread)
{
    return state->operations_of[thread] + state->passed_of[thread];
}

uint64_t
profile_state_operations(const struct profile_state *state)
{
    uint64_t sum = state->operations;

    for (uint32_t thread = 0; thread < state->trace->thread_count; thread++) {
        sum += state->passed_of[thread];
    }
    return sum;
}

static struct profile_account *
change(struct profile_state *state, uint32_t node)
{
    struct profile_account *account = &state->accounts[node];

    if (!account->changed) {
        account->changed = true;
        state->changed[state->changed_count++] = node;
    }
    return account;
}

static void
end_object(struct profile_state *state, uint32_t thread, const struct profile_object *object)
{
    struct profile_account *account = change(state, object->key.value);
    struct profile_sum ended = weight(state, object->size);

    subtract(&account->live, ended);
    subtract(&state->all.live, ended);
    if (state->live_by_part != NULL) {
        subtract(&state->live_by_size[profile_power(object->size)], ended);
        subtract(&state->live_by_part[object->time >> state->lg_part], ended);
        add(&state->ended_by_age[profile_power(state->time - object->time)], ended);
    }
    if (object->key.thread == thread + 1 && operations_of(state, thread) - object->born <= state->within) {
        add(&account->temporary, ended);
        add(&state->all.temporary, ended);
    }
}

/* False: no memory. */
static bool
make_object(struct profile_state *state, const struct hew_trace_operation *operation)
{
    struct profile_account *account = change(state, operation->node);
    struct profile_sum made = weight(state, operation->size);
    struct profile_object *object;

    if (hew_trace_table_is_full(&state->objects) && !hew_trace_table_grow(&state->objects, sizeof(*object))) {
        return false;
    }
    object = (struct profile_object *)hew_trace_table_add(&state->objects, sizeof(*object), operation->made);
    object->size = operation->size;
    object->born = operations_of(state, operation->thread);
    object->time = state->time;
    object->key.value = operation->node;
    add(&account->made, made);
    add(&account->live, made);
    add(&state->all.made, made);
    add(&state->all.live, made);
    if (state->live_by_part != NULL) {
        unsigned power = profile_power(operation->size);
        add(&state->live_by_size[power], made);
        add(&state->made_by_size[power], made);
        add(&state->live_by_part[state->time >> state->lg_part], made);
    }
    account->most = account->live.bytes > account->most ? account->live.bytes : account->most;
    if (state->all.live.bytes > state->all.most) {
        state->all.most = state->all.live.bytes;
        state->peak_operation = state->operations;
        state->peak_time = state->time;
        state->peak_objects = state->all.live.count;
    }
    return true;
}

static void
note_name(struct profile_state *state, const struct hew_trace_operation *operation)
{
    struct profile_thread *thread = &state->named[operation->thread];

    if (operation->kind == HEW_TRACE_DID_NAME) {
        thread->tid = (uint32_t)operation->size;
        memcpy(thread->name, operation->name, sizeof(thread->name));
    } else if (operation->kind == HEW_TRACE_DID_EXIT) {
        thread->ended = true;
    }
}

bool
profile_state_take(struct profile_state *state, const struct hew_trace_operation *operation, bool *failed)
{
    bool makes = operation->kind == HEW_TRACE_DID_ALLOCATE || operation->kind == HEW_TRACE_DID_REALLOCATE;
    bool ends = operation->kind == HEW_TRACE_DID_FREE || operation->kind == HEW_TRACE_DID_REALLOCATE;
    struct profile_object ended;

    state->passed_of[operation->thread] = operation->passed;
    if (!makes && !ends) {
        note_name(state, operation);
        return false;
    }
    ends = ends && hew_trace_table_take(&state->objects, sizeof(ended), operation->ended, &ended);
    if (!makes && !ends) {
        return false;
    }
    /* Batches are ordered by ticket, which is not exactly the order of their times. */
    state->time = operation->time > state->time ? operation->time : state->time;
    state->operations++;
    state->operations_of[operation->thread]++;
    if (ends) {
        end_object(state, operation->thread, &ended);
    }
    if (makes && !make_object(state, operation)) {
        *failed = true;
        return false;
    }
    return true;
}

bool
profile_state_lose(struct profile_state *state)
{
    state->lost = calloc((size_t)state->trace->node_count + 1, sizeof(*state->lost));
    for (size_t i = 0; state->lost != NULL && i < state->trace->lost_count; i++) {
        struct profile_object object;
        if (hew_trace_table_take(&state->objects, sizeof(object), state->trace->lost[i], &object)) {
            add(&state->lost[object.key.value], weight(state, object.size));
        }
    }
    return state->lost != NULL;
}

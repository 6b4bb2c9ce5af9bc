/* SPDX-License-Identifier: MIT */
/* state: see state.h. */
#include "profile/state.h"

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
    state->accounts = calloc(nodes, sizeof(*state->accounts));
    state->changed = calloc(nodes, sizeof(*state->changed));
    state->operations_of = calloc((size_t)trace->thread_count + 1, sizeof(*state->operations_of));
    if (state->accounts == NULL || state->changed == NULL || state->operations_of == NULL) {
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
    free(state->objects);
    free(state->lost);
    *state = (struct profile_state){0};
}

static void
add(struct profile_sum *sum, uint64_t bytes)
{
    sum->count++;
    sum->bytes += bytes;
}

static void
subtract(struct profile_sum *sum, uint64_t bytes)
{
    sum->count--;
    sum->bytes -= bytes;
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
end_object(struct profile_state *state, const struct hew_trace_operation *operation)
{
    const struct profile_object *object = &state->objects[operation->ended_slot];
    struct profile_account *account = change(state, object->node);
    uint64_t bytes = operation->ended_size;

    subtract(&account->live, bytes);
    subtract(&state->all.live, bytes);
    subtract(&state->live_by_size[profile_power(bytes)], bytes);
    add(&state->ended_by_age[profile_power(state->time - object->time)], bytes);
    if (state->live_by_part != NULL) {
        subtract(&state->live_by_part[object->part], bytes);
    }
    if (operation->ended.thread == operation->thread &&
        state->operations_of[operation->thread] - object->born <= state->within) {
        add(&account->temporary, bytes);
        add(&state->all.temporary, bytes);
    }
}

/* False: no memory. */
static bool
make_object(struct profile_state *state, const struct hew_trace_operation *operation)
{
    struct profile_account *account = change(state, operation->node);
    uint64_t bytes = operation->size;

    if (operation->slot >= state->object_room) {
        size_t room = (size_t)operation->slot * 2 + 1024;
        struct profile_object *objects = realloc(state->objects, room * sizeof(*objects));
        if (objects == NULL) {
            return false;
        }
        state->objects = objects;
        state->object_room = room;
    }
    state->objects[operation->slot] =
        (struct profile_object){operation->node, state->part, state->operations_of[operation->thread], state->time};
    add(&account->made, bytes);
    add(&account->live, bytes);
    add(&state->all.made, bytes);
    add(&state->all.live, bytes);
    add(&state->live_by_size[profile_power(bytes)], bytes);
    add(&state->made_by_size[profile_power(bytes)], bytes);
    if (state->live_by_part != NULL) {
        add(&state->live_by_part[state->part], bytes);
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

bool
profile_state_take(struct profile_state *state, const struct hew_trace_operation *operation, bool *failed)
{
    bool makes = operation->kind == HEW_TRACE_DID_ALLOCATE || operation->kind == HEW_TRACE_DID_REALLOCATE;
    bool ends = operation->kind == HEW_TRACE_DID_FREE || operation->kind == HEW_TRACE_DID_REALLOCATE;

    if (!makes && !ends) {
        return false;
    }
    /* Batches are ordered by ticket, which is not exactly the order of their times. */
    state->time = operation->time > state->time ? operation->time : state->time;
    state->operations++;
    state->operations_of[operation->thread]++;
    if (ends) {
        end_object(state, operation);
    }
    if (makes && !make_object(state, operation)) {
        *failed = true;
        return false;
    }
    return true;
}

bool
profile_state_lose(struct profile_state *state, struct hew_trace_live *live)
{
    state->lost = calloc((size_t)state->trace->node_count + 1, sizeof(*state->lost));
    for (size_t i = 0; state->lost != NULL && i < state->trace->lost_count; i++) {
        uint64_t slot, size;
        if (hew_trace_live_take(live, state->trace->lost[i], &slot, &size) && slot < state->object_room) {
            add(&state->lost[state->objects[slot].node], size);
        }
    }
    return state->lost != NULL;
}

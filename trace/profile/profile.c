/* SPDX-License-Identifier: MIT */
/* profile: see profile.h. */
#include "profile/profile.h"

#include "profile/parts.h"
#include "profile/state.h"
#include "profile/threads.h"
#include "profile/write.h"

#include <stdlib.h>

#define AHEAD 32              /* operations that are read before they are processed */
#define STACKS_OVER_TIME 3000 /* only so many stacks, the largest, have their own row over time */

/* The second pass: the moments at which it stops next. */
struct stops {
    const struct profile_options *options;
    const struct profile_parts *parts;
    unsigned at;   /* index into options->at */
    uint32_t part; /* the next interval to be written */
    uint64_t peak; /* operation; 0: none */
    uint64_t next; /* the first of those operations that is still to come */
    struct profile_writer writer;
};

static bool
fails(char why[HEW_TRACE_WHY], const char *text)
{
    snprintf(why, HEW_TRACE_WHY, "%s", text);
    return false;
}

/* Reads the next operations, without those that say nothing of objects or threads, and has the table's entries for them
 * brought near: waiting for memory would be most of the time.  How many; 0: the end. */
static size_t
read_ahead(struct hew_trace_merge *merge, const struct profile_state *state, struct hew_trace_operation *operations)
{
    size_t count = 0;

    while (count < AHEAD && hew_trace_merge_next(merge, &operations[count])) {
        struct hew_trace_operation *operation = &operations[count];
        switch (operation->kind) {
        case HEW_TRACE_DID_REALLOCATE:
            hew_trace_table_prefetch(&state->objects, sizeof(struct profile_object), operation->ended);
            /* fallthrough */
        case HEW_TRACE_DID_ALLOCATE:
            hew_trace_table_prefetch(&state->objects, sizeof(struct profile_object), operation->made);
            operation->node = profile_threads_node(state->threads, operation->thread, operation->node);
            count++;
            break;
        case HEW_TRACE_DID_FREE:
            hew_trace_table_prefetch(&state->objects, sizeof(struct profile_object), operation->ended);
            count++;
            break;
        case HEW_TRACE_DID_EXIT:
        case HEW_TRACE_DID_NAME:
        case HEW_TRACE_DID_PASS:
            count++;
            break;
        default:
            break;
        }
    }
    return count;
}

/* Processes every operation, and calls `before` and `after` with their argument.  False: no memory. */
static bool
pass(struct profile_state *state, const struct hew_trace *trace,
     void (*before)(void *argument, struct profile_state *state, uint64_t time),
     void (*after)(void *argument, struct profile_state *state), void *argument)
{
    struct hew_trace_merge merge;
    struct hew_trace_operation *operations = malloc(AHEAD * sizeof(*operations));
    bool failed = operations == NULL;
    size_t count;

    if (failed || !hew_trace_merge_begin_bare(&merge, trace)) {
        free(operations);
        return false;
    }
    while (!failed && (count = read_ahead(&merge, state, operations)) > 0) {
        for (size_t i = 0; i < count && !failed; i++) {
            before(argument, state, operations[i].time);
            if (profile_state_take(state, &operations[i], &failed)) {
                after(argument, state);
            }
        }
    }
    failed = failed || (trace->lost != NULL && !profile_state_lose(state));
    hew_trace_merge_end(&merge);
    free(operations);
    return !failed;
}

static void
before_nothing(void *argument, struct profile_state *state, uint64_t time)
{
    (void)argument;
    (void)state;
    (void)time;
}

static void
after_first(void *argument, struct profile_state *state)
{
    profile_parts_take(argument, state->time, state->operations, state->all.live.bytes);
}

static void
before_second(void *argument, struct profile_state *state, uint64_t time)
{
    struct stops *stops = argument;

    while (stops->at < stops->options->at_count && time > stops->options->at[stops->at]) {
        profile_write_moment(&stops->writer, state, "at", stops->options->at[stops->at++]);
    }
}

/* Sets the operation of the next stop. */
static void
find_stop(struct stops *stops, uint64_t operation)
{
    const struct profile_parts *parts = stops->parts;

    while (stops->part < parts->count && parts->operation[stops->part] == 0) {
        stops->part++; /* no operation in this interval: it equals the one before */
    }
    stops->next = stops->options->over_time && stops->part < parts->count ? parts->operation[stops->part] : UINT64_MAX;
    if (stops->peak > operation && stops->peak < stops->next) {
        stops->next = stops->peak;
    }
}

static void
after_second(void *argument, struct profile_state *state)
{
    struct stops *stops = argument;

    if (state->operations != stops->next) {
        return;
    }
    if (state->operations == stops->peak) {
        profile_write_moment(&stops->writer, state, "peak", state->time);
    }
    if (stops->options->over_time && stops->part < stops->parts->count &&
        state->operations == stops->parts->operation[stops->part]) {
        profile_write_part(&stops->writer, state, stops->part++);
    }
    find_stop(stops, state->operations);
}

static int
by_size(const void *left, const void *right)
{
    uint64_t a = ((const uint64_t *)left)[0], b = ((const uint64_t *)right)[0];

    return a < b ? 1 : a > b ? -1 : 0;
}

/* Marks the stacks that are largest by one of their sums.  False: no memory. */
static bool
mark_largest(const struct profile_state *state, uint8_t *told, uint64_t (*sum)(const struct profile_account *account))
{
    uint32_t nodes = state->trace->node_count + 1;
    uint64_t(*sizes)[2] = malloc((size_t)nodes * sizeof(*sizes));

    if (sizes == NULL) {
        return false;
    }
    for (uint32_t node = 0; node < nodes; node++) {
        sizes[node][0] = sum(&state->accounts[node]);
        sizes[node][1] = node;
    }
    qsort(sizes, nodes, sizeof(*sizes), by_size);
    for (uint32_t i = 0; i < nodes && i < STACKS_OVER_TIME / 3; i++) {
        told[sizes[i][1]] = 1;
    }
    free(sizes);
    return true;
}

static uint64_t
most_of(const struct profile_account *account)
{
    return account->most;
}

static uint64_t
made_of(const struct profile_account *account)
{
    return account->made.count;
}

static uint64_t
temporary_of(const struct profile_account *account)
{
    return account->temporary.count;
}

static bool
second_pass(struct profile_state *first, struct stops *stops, FILE *to)
{
    struct profile_state state = {0};
    uint32_t nodes = first->trace->node_count + 1;
    struct profile_sum *by_part = calloc(PROFILE_PARTS, sizeof(*by_part));
    uint8_t *told = calloc(nodes, 1);
    bool done = by_part != NULL && told != NULL && mark_largest(first, told, most_of) &&
                mark_largest(first, told, made_of) && mark_largest(first, told, temporary_of) &&
                profile_state_begin(&state, first->trace, first->within);

    if (done) {
        state.threads = first->threads;
        state.live_by_part = by_part;
        state.lg_part = stops->parts->lg_length;
        stops->writer = (struct profile_writer){.to = to, .told = told};
        profile_write_begin(&stops->writer, first, stops->parts);
        find_stop(stops, 0);
        done = pass(&state, first->trace, before_second, after_second, stops);
        while (stops->at < stops->options->at_count) {
            profile_write_moment(&stops->writer, &state, "at", stops->options->at[stops->at++]);
        }
        if (stops->options->over_time) {
            profile_write_part(&stops->writer, &state, stops->parts->count); /* the end: no highest moment shows it */
        }
        profile_write_moment(&stops->writer, &state, "end", state.time);
        profile_write_end(&stops->writer, &state);
        profile_state_end(&state);
    }
    free(by_part);
    free(told);
    return done;
}

/* `threads` is empty unless stacks are separated by thread. */
static bool
write(const struct hew_trace *trace, const struct profile_threads *threads, const struct profile_options *options,
      FILE *to, char why[HEW_TRACE_WHY])
{
    struct profile_state first;
    struct profile_parts parts;
    struct stops stops = {.options = options, .parts = &parts};
    bool done;

    profile_parts_begin(&parts);
    if (!profile_state_begin(&first, trace, options->within)) {
        return fails(why, "no memory for its stacks");
    }
    first.threads = threads;
    done = pass(&first, trace, before_nothing, after_first, &parts);
    stops.peak = first.peak_operation;
    done = done && second_pass(&first, &stops, to);
    profile_state_end(&first);
    return done ? true : fails(why, "no memory for its objects");
}

bool
profile_write(const struct hew_trace *trace, const struct profile_options *options, FILE *to, char why[HEW_TRACE_WHY])
{
    struct profile_threads threads = {0};
    bool done;

    if (!options->by_thread) {
        return write(trace, &threads, options, to, why);
    }
    if (!profile_threads_begin(&threads, trace)) {
        return fails(why, "no memory for its stacks by thread");
    }
    done = write(&threads.trace, &threads, options, to, why);
    profile_threads_end(&threads);
    return done;
}

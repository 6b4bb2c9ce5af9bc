/* SPDX-License-Identifier: MIT */
/* threads: see threads.h. */
#include "profile/threads.h"

#include <stdlib.h>

#define DEEPEST 4096

static uint32_t *
place(const struct profile_threads *threads, uint32_t thread, uint32_t node)
{
    return &threads->became[(size_t)thread * threads->nodes + node];
}

/* False: no memory. */
static bool
add(struct profile_threads *threads, struct hew_trace_node node, uint32_t *number)
{
    struct hew_trace *trace = &threads->trace;

    if ((trace->node_count & (trace->node_count - 1)) == 0) { /* a power of two: full */
        struct hew_trace_node *nodes = realloc(trace->nodes, (size_t)trace->node_count * 2 * sizeof(*nodes));
        if (nodes == NULL) {
            return false;
        }
        trace->nodes = nodes;
    }
    trace->nodes[trace->node_count] = node;
    *number = trace->node_count++;
    return true;
}

/* Creates the thread's own nodes for this node and its callers.  False: no memory. */
static bool
make_own(struct profile_threads *threads, uint32_t thread, uint32_t node)
{
    uint32_t way[DEEPEST], depth = 0, parent;

    for (; *place(threads, thread, node) == 0 && node != 0 && depth < DEEPEST;
         node = threads->trace.nodes[node].parent) {
        way[depth++] = node;
    }
    if (*place(threads, thread, node) == 0) {
        uint32_t name = threads->trace.names == NULL ? thread : threads->trace.names[thread];
        struct hew_trace_node root = {PROFILE_THREAD | name, 0, 0};
        if (!add(threads, root, place(threads, thread, node))) {
            return false;
        }
    }
    parent = *place(threads, thread, node);
    while (depth > 0) {
        struct hew_trace_node own = threads->trace.nodes[way[--depth]];
        own.parent = parent;
        if (!add(threads, own, place(threads, thread, way[depth]))) {
            return false;
        }
        parent = *place(threads, thread, way[depth]);
    }
    return true;
}

bool
profile_threads_begin(struct profile_threads *threads, const struct hew_trace *trace)
{
    size_t room = 1;

    *threads = (struct profile_threads){.trace = *trace, .nodes = trace->node_count == 0 ? 1 : trace->node_count};
    while (room < threads->nodes) {
        room *= 2;
    }
    threads->became = calloc((size_t)threads->nodes * (trace->thread_count + 1), sizeof(*threads->became));
    threads->trace.nodes = malloc(room * sizeof(*threads->trace.nodes));
    threads->trace.node_count = threads->nodes;
    if (threads->became == NULL || threads->trace.nodes == NULL) {
        profile_threads_end(threads);
        return false;
    }
    threads->trace.nodes[0] = (struct hew_trace_node){0};
    if (trace->node_count != 0) {
        memcpy(threads->trace.nodes, trace->nodes, trace->node_count * sizeof(*trace->nodes));
    }
    for (uint32_t thread = 0; thread < trace->thread_count; thread++) {
        struct hew_trace_cursor cursor;
        struct hew_trace_operation operation;
        bool made = make_own(threads, thread, 0);
        hew_trace_cursor_begin(&cursor, trace, thread);
        while (made && hew_trace_cursor_next(&cursor, &operation)) {
            made = operation.kind != HEW_TRACE_DID_NODE || *place(threads, thread, operation.node) != 0 ||
                   make_own(threads, thread, operation.node);
        }
        if (!made) {
            profile_threads_end(threads);
            return false;
        }
    }
    return true;
}

void
profile_threads_end(struct profile_threads *threads)
{
    free(threads->became);
    free(threads->trace.nodes);
    *threads = (struct profile_threads){0};
}

uint32_t
profile_threads_node(const struct profile_threads *threads, uint32_t thread, uint32_t node)
{
    return threads->became == NULL || node >= threads->nodes ? node : *place(threads, thread, node);
}

/* SPDX-License-Identifier: MIT */
/*
 * trace_fuzz: the reader of trace files under arbitrary bytes.
 *
 * Holds that nothing outside of the file is read, that memory stays bounded by the file's size, and that the merged order makes each
 * object before it ends, whatever the file says.  Inputs: trace_inputs.c.
 */
#include "format/reader.h"
#include "fuzz/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hew_trace trace;
    struct hew_trace_merge merge;
    struct hew_trace_operation operation;
    char why[HEW_TRACE_WHY];
    size_t live = 0, steps = 0;
    uint8_t *copy = malloc(size + 1); /* of its own size, for AddressSanitizer */

    memcpy(copy, data, size);
    if (!hew_trace_open(&trace, copy, size, why)) {
        require(strchr(why, '\n') == NULL && why[0] != '\0', "a refusal is not one line");
        free(copy);
        return 0;
    }
    require(trace.thread_count <= trace.part_count, "there are threads without blocks");
    require(hew_trace_merge_begin(&merge, &trace), "no memory");
    while (hew_trace_merge_next(&merge, &operation)) {
        live += operation.kind == HEW_TRACE_DID_ALLOCATE;
        require(operation.kind != HEW_TRACE_DID_FREE || live-- > 0, "more objects end than were made");
        require(operation.kind != HEW_TRACE_DID_ALLOCATE || operation.slot < size, "a slot is larger than the file");
        require(operation.kind != HEW_TRACE_DID_STACK || operation.frame_count <= HEW_TRACE_STACK_MAX,
                "too many frames");
        require(++steps <= size * 2 + 64, "more operations than the file has bytes");
    }
    require(!merge.failed, "no memory amid the order");
    hew_trace_merge_end(&merge);
    hew_trace_close(&trace);
    free(copy);
    return 0;
}

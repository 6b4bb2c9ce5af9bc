/* SPDX-License-Identifier: MIT */
/* fixture: a trace in memory, block after block. */
#ifndef HEW_TESTS_UNIT_TRACE_FIXTURE_H
#define HEW_TESTS_UNIT_TRACE_FIXTURE_H

#include "format/reader.h"
#include "format/writer.h"

#include <string.h>

#define ROOM 512

struct fixture {
    _Alignas(64) uint8_t bytes[64 + 16 * ROOM];
    size_t size;
    struct hew_trace trace;
    char why[HEW_TRACE_WHY];
};

static inline void
fixture_begin(struct fixture *fixture)
{
    struct hew_trace_header header = {
        .magic = HEW_TRACE_MAGIC,
        .version = HEW_TRACE_VERSION,
        .first_block = sizeof(header),
        .batch_operations = 64,
        .thread_sampling = 1,
    };

    memset(fixture, 0, sizeof(*fixture));
    memcpy(fixture->bytes, &header, sizeof(header));
    fixture->size = sizeof(header);
}

/* The writer's next block lies in the file from here on. */
static inline void
fixture_block(struct fixture *fixture, struct hew_trace_writer *writer)
{
    hew_trace_writer_begin(writer, fixture->bytes + fixture->size, ROOM);
    fixture->size += ROOM;
}

static inline bool
fixture_open(struct fixture *fixture)
{
    return hew_trace_open(&fixture->trace, fixture->bytes, fixture->size, fixture->why);
}

#endif

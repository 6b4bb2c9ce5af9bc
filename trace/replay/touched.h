/* SPDX-License-Identifier: MIT */
/* touched: of which objects a trace tells how many pages had memory.  A sorted table of them, 24 bytes each. */
#ifndef HEW_TRACE_REPLAY_TOUCHED_H
#define HEW_TRACE_REPLAY_TOUCHED_H

#include "format/reader.h"

struct hew_touched_object {
    struct hew_trace_object object;
    uint32_t pages;
    bool told; /* to whoever made the object: of one that a damaged trace makes twice it is told once */
};

struct hew_touched {
    struct hew_touched_object *objects;
    size_t count, capacity;
};

/* False: no memory. */
bool hew_touched_add(struct hew_touched *touched, struct hew_trace_object object, uint64_t pages);

/* After the last one, before the first look-up. */
void hew_touched_sort(struct hew_touched *touched);

/* What is told of an object, once; false: nothing, or no more. */
bool hew_touched_take(struct hew_touched *touched, struct hew_trace_object object, uint32_t *pages);

void hew_touched_end(struct hew_touched *touched);

#endif

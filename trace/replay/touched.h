/* SPDX-License-Identifier: MIT */
/* touched: the objects for which a trace records resident pages.  A sorted table, 24 bytes each. */
#ifndef HEW_TRACE_REPLAY_TOUCHED_H
#define HEW_TRACE_REPLAY_TOUCHED_H

#include "format/reader.h"

struct hew_touched_object {
    struct hew_trace_object object;
    uint32_t pages;
    bool told; /* already returned for the object; a damaged trace may make one twice */
};

struct hew_touched {
    struct hew_touched_object *objects;
    size_t count, capacity;
};

/* False: no memory. */
bool hew_touched_add(struct hew_touched *touched, struct hew_trace_object object, uint64_t pages);

/* Call it after the last add and before the first lookup. */
void hew_touched_sort(struct hew_touched *touched);

/* Returns the pages of an object, once; false: no record, or already returned. */
bool hew_touched_take(struct hew_touched *touched, struct hew_trace_object object, uint32_t *pages);

void hew_touched_end(struct hew_touched *touched);

#endif

/* SPDX-License-Identifier: MIT */
/* live: the objects that live, by (thread, number), each with a slot: a small number that is used again.  By malloc. */
#ifndef HEW_TRACE_FORMAT_LIVE_H
#define HEW_TRACE_FORMAT_LIVE_H

#include "format/reader.h"

struct hew_trace_live;

struct hew_trace_live *hew_trace_live_new(void);
void hew_trace_live_free(struct hew_trace_live *live);

/* False: no memory.  An object that lives already (in a damaged trace) is forgotten for the new one, which takes its slot. */
bool hew_trace_live_add(struct hew_trace_live *live, struct hew_trace_object object, uint64_t size, uint64_t *slot);

/* False: it does not live. */
bool hew_trace_live_take(struct hew_trace_live *live, struct hew_trace_object object, uint64_t *slot, uint64_t *size);

#endif

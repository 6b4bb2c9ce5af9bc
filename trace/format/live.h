/* SPDX-License-Identifier: MIT */
/* live: the live objects, by (thread, number).  Each has a slot: a small number that is reused.  Allocates by
 * malloc. */
#ifndef HEW_TRACE_FORMAT_LIVE_H
#define HEW_TRACE_FORMAT_LIVE_H

#include "format/reader.h"

struct hew_trace_live;

struct hew_trace_live *hew_trace_live_new(void);
void hew_trace_live_free(struct hew_trace_live *live);

/* False: no memory.  If the object is live already (in a damaged trace), the new one replaces it and keeps its slot. */
bool hew_trace_live_add(struct hew_trace_live *live, struct hew_trace_object object, uint64_t size, uint64_t *slot);

/* False: it is not live. */
bool hew_trace_live_take(struct hew_trace_live *live, struct hew_trace_object object, uint64_t *slot, uint64_t *size);

#endif

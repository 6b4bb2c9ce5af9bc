/* SPDX-License-Identifier: MIT */
/*
 * calls: writes down what was allocated and freed.  The functions that the program calls are in malloc.c and new.c.
 *
 * Promises  an allocation is written after it was made, a free before it is done, so that no address has two objects at once.
 */
#ifndef HEW_TRACE_RECORD_CALLS_H
#define HEW_TRACE_RECORD_CALLS_H

#include "base/compiler.h"

#include <errno.h>

/* code: MALLOC or CALLOC; ALIGNED with its alignment, a power of two.  The object may be NULL. */
void hew_trace_made(void *object, unsigned code, size_t size, size_t alignment);
void hew_trace_ended(void *object);

/* Whether it is in the trace. */
bool hew_trace_knows(const void *object);

/* Around a call whose own calls are not recorded.  False: none are already. */
bool hew_trace_hush(void);
void hew_trace_unhush(bool hushed);

/* Around a realloc: what the object was, to be told afterwards. */
uint64_t hew_trace_before_realloc(void *object);
void hew_trace_after_realloc(void *object, uint64_t before, void *result, size_t size);

/* At the end of the process: how much of the large objects that live was touched. */
HEW_COLD void hew_trace_touched_at_end(void);

#endif

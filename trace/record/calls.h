/* SPDX-License-Identifier: MIT */
/*
 * calls: records allocations and frees.  The functions that the program calls are in malloc.c and new.c.
 *
 * Promises  an allocation is written after it was made, a free before it is done, so no address ever has two objects at
 *           once.
 */
#ifndef HEW_TRACE_RECORD_CALLS_H
#define HEW_TRACE_RECORD_CALLS_H

#include "base/compiler.h"

#include <errno.h>

/* code: MALLOC or CALLOC; ALIGNED with its alignment, a power of two.  The object may be NULL. */
void hew_trace_made(void *object, unsigned code, size_t size, size_t alignment);
void hew_trace_ended(void *object);

/* Whether the object is in the trace. */
bool hew_trace_knows(const void *object);

/* Bracket a call whose own allocations must not be recorded.  False: they are suppressed already. */
bool hew_trace_hush(void);
void hew_trace_unhush(bool hushed);

/* Bracket a realloc: the first returns the object's handle, the second records the result. */
uint32_t hew_trace_before_realloc(void *object);
void hew_trace_after_realloc(void *object, uint32_t handle, void *result, size_t size);

/* At process end: records the resident pages of the large live objects, and what this thread has passed over. */
HEW_COLD void hew_trace_touched_at_end(void);

#endif

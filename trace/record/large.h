/* SPDX-License-Identifier: MIT */
/*
 * large: the large objects that live, and how many of their pages have memory.
 *
 * Owns      a table of 4,096 objects in memory that a forked child sees as zeros; what has no place in it is not looked at.
 * Promises  no lock and no malloc.  An entry is made and taken by whoever has the object; the walk at the end sees whole entries alone.
 */
#ifndef HEW_TRACE_RECORD_LARGE_H
#define HEW_TRACE_RECORD_LARGE_H

#include "base/compiler.h"

/* Smaller ones are touched as a whole, or not worth a look: it costs three system calls. */
#define HEW_TRACE_LARGE_SIZE ((size_t)256 << 10)

/* Before the first object.  False: no memory; then no object is followed. */
HEW_COLD bool hew_large_begin(void);

/* Those of an earlier recording; while nobody records. */
HEW_COLD void hew_large_forget(void);

/* The object with its id, which is not 0; false: it is not followed. */
HEW_COLD bool hew_large_add(const void *object, size_t size, uint64_t id);

/* It ends, or moves: its size; 0: it is not followed. */
HEW_COLD size_t hew_large_take(const void *object);

/* One after the other, for the end of the process: *at begins with 0.  False: no more. */
HEW_COLD bool hew_large_next(size_t *at, const void **object, size_t *size, uint64_t *id);

/* Pages of 4 KiB among [object, object + size) that have memory or swap; UINT64_MAX: the system does not tell. */
HEW_COLD uint64_t hew_large_touched(const void *object, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * large: the large live objects, and how many of their pages are resident.
 *
 * Owns      a table of 4,096 objects in memory that a forked child sees as zeros; objects that do not fit are not
 *           tracked.
 * Promises  no lock and no malloc.  The thread that holds the object adds and removes its entry; the scan at the end
 *           sees complete entries only.
 */
#ifndef HEW_TRACE_RECORD_LARGE_H
#define HEW_TRACE_RECORD_LARGE_H

#include "base/compiler.h"

/* Smaller objects are touched as a whole, or are not worth a check, which costs three system calls. */
#define HEW_TRACE_LARGE_SIZE ((size_t)256 << 10)

/* Called before the first object.  False: no memory; then no object is tracked. */
HEW_COLD bool hew_large_begin(void);

/* Drops the entries of an earlier recording; call it while no recording runs. */
HEW_COLD void hew_large_forget(void);

/* Adds the object with its id, which is not 0; false: it is not tracked. */
HEW_COLD bool hew_large_add(const void *object, size_t size, uint64_t id);

/* The object ends or moves: removes it and returns its size; 0: it was not tracked. */
HEW_COLD size_t hew_large_take(const void *object);

/* Iterates over all entries at process end: *at begins with 0.  False: no more. */
HEW_COLD bool hew_large_next(size_t *at, const void **object, size_t *size, uint64_t *id);

/* Pages of 4 KiB within [object, object + size) that are in memory or swap; UINT64_MAX: the system does not report
 * it. */
HEW_COLD uint64_t hew_large_touched(const void *object, size_t size);

#endif

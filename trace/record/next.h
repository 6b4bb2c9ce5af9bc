/* SPDX-License-Identifier: MIT */
/*
 * next: finds the allocator's functions that this library interposes.
 *
 * Owns      their addresses, and a little memory for allocations during the search.
 * Promises  may be called before constructors and by several threads at once: each thread finds the same functions.
 */
#ifndef HEW_TRACE_RECORD_NEXT_H
#define HEW_TRACE_RECORD_NEXT_H

#include "base/compiler.h"

struct hew_next {
    void *(*malloc)(size_t size);
    void (*free)(void *object);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *object, size_t size);
    void *(*memalign)(size_t alignment, size_t size);
    void *(*aligned_alloc)(size_t alignment, size_t size);
    int (*posix_memalign)(void **object, size_t alignment, size_t size);
    void *(*valloc)(size_t size);
    void *(*pvalloc)(size_t size);
};

extern struct hew_next hew_next_functions;
extern bool hew_next_known;

/* Searches for them.  False while this thread is already searching; then malloc must use hew_next_early(). */
HEW_COLD bool hew_next_find(void);

HEW_INLINE bool
hew_next_ready(void)
{
    return HEW_LIKELY(__atomic_load_n(&hew_next_known, __ATOMIC_ACQUIRE)) || hew_next_find();
}

/* Zeroed memory for the loader during the search; it is never given back. */
void *hew_next_early(size_t size);
bool hew_next_is_early(const void *object);
size_t hew_next_early_left(const void *object); /* bytes from the object to the end of that memory */

/* For a library that was loaded into a running process, where the normal search order finds nothing: search from the
 * program instead.  Call it before any search. */
void hew_next_from_program(void);

/* By name; NULL: not found. */
void *hew_next_named(const char *name);

/* Searches the whole program, including this library. */
void *hew_next_of_program(const char *name);

/* The path of the library that defines malloc. */
const char *hew_next_library(void);

#endif

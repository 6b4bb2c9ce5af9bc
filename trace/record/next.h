/* SPDX-License-Identifier: MIT */
/*
 * next: the functions that ours stand before: those of the allocator that the program would have without us.
 *
 * Owns      their addresses, and a little memory for who asks for some while they are being looked for.
 * Promises  may be called before constructors and by several threads at once: whoever is first finds the same.
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

/* Looks for them; false while it is being done in this thread, when malloc is hew_next_early(). */
HEW_COLD bool hew_next_find(void);

HEW_INLINE bool
hew_next_ready(void)
{
    return HEW_LIKELY(__atomic_load_n(&hew_next_known, __ATOMIC_ACQUIRE)) || hew_next_find();
}

/* Zeroed memory for the loader while it looks, which is never given back. */
void *hew_next_early(size_t size);
bool hew_next_is_early(const void *object);
size_t hew_next_early_left(const void *object); /* bytes from it to the end of that memory */

/* For a library that was loaded into a running process: what comes after it there is nothing; what the program calls is what counts.
 * Before anything is looked for. */
void hew_next_from_program(void);

/* By name; NULL: there is none. */
void *hew_next_named(const char *name);

/* The same anywhere in the program, our own functions too. */
void *hew_next_of_program(const char *name);

/* The path of the library that has malloc. */
const char *hew_next_library(void);

#endif

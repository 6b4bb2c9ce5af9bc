/* SPDX-License-Identifier: MIT */
/*
 * misuse: the cases of the death tests: each does one forbidden thing and must not come back.
 */
#ifndef HEW_TESTS_DEATH_MISUSE_H
#define HEW_TESTS_DEATH_MISUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

struct misuse {
    const char *name;
    void (*run)(void);
    const char *settings; /* MALLOC_CONF, or NULL */
    /* The whole line on stderr; %0 and %1 stand for the two addresses that the case has announced.  Lines that begin with
     * a space may follow it. */
    const char *line;
};

/* The last one has no name. */
extern const struct misuse misuses[], large_misuses[], pool_misuses[], harden_misuses[], guard_misuses[];

/* Tells the test an address that its line may contain; up to two, in order. */
void misuse_announce(const void *address);

#define MIB ((size_t)1 << 20)
/* No other thread allocates between two calls. */
#define QUIET "background_thread:false"

/* Lines of several. */
#define FREE "<hew>: free(%0): "
#define FREED "not a live allocation: these pages have been freed already"
#define FOREIGN "not memory that hew gave out: the stack, static data, or another allocator's"
#define INSIDE "points inside an allocation: inside the "
#define SIZE "freed with the wrong size: said to be "

/* What the compiler may not see through: that a pointer was freed, or where it came from. */
static void *volatile unseen;

static inline void *
opaque(void *pointer)
{
    unseen = pointer;
    return unseen;
}

static inline void *
allocate(size_t size)
{
    void *object = opaque(malloc(size));
    misuse_announce(object);
    return object;
}

#endif

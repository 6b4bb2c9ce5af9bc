/* SPDX-License-Identifier: MIT */
/*
 * misuse: the cases of the death tests: each does one forbidden thing and must not come back.
 */
#ifndef HEW_TESTS_DEATH_MISUSE_H
#define HEW_TESTS_DEATH_MISUSE_H

#include <stddef.h>

struct misuse {
    const char *name;
    void (*run)(void);
    const char *settings; /* MALLOC_CONF, or NULL */
    /* The whole line on stderr; %0 and %1 stand for the two addresses that the case has announced. */
    const char *line;
};

/* The last one has no name. */
extern const struct misuse misuses[], pool_misuses[];

/* Tells the test an address that its line may contain; up to two, in order. */
void misuse_announce(const void *address);

#endif

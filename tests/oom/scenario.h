/* SPDX-License-Identifier: MIT */
/*
 * scenario: one fixed run through everything that asks the system for memory, repeated in a process of its own for each
 * way in which the system may refuse.
 *
 * A variant says which functions to use and what must hold at the end: the alloc layer alone (oom_layers.c), or the
 * library with errno (oom_library.c).
 */
#ifndef HEW_TESTS_OOM_SCENARIO_H
#define HEW_TESTS_OOM_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>

struct oom_variant {
    /* Each as the function of that name; NULL also checks what the variant promises of a refusal. */
    void *(*malloc)(size_t size);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *object, size_t size);
    void *(*aligned)(size_t alignment, size_t size);
    void (*free)(void *object);
    void (*begin)(const char *settings); /* before the first of them; settings may be NULL */
    void (*end_thread)(void);
    /* What is still handed out when everything was freed and the last thread's cache has gone, in bytes. */
    size_t (*left)(void);
};

/* Something does not hold: says so; the process is to end with a failure. */
void oom_wrong(const char *what);

/* Runs every refusal; the exit status of the program. */
int oom_run(const struct oom_variant *variant);

#endif

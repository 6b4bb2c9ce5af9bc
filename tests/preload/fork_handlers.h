/* SPDX-License-Identifier: MIT */
/* fork_handlers: handlers of fork() that allocate, for a program and for the libraries that it brings. */
#ifndef HEW_TESTS_PRELOAD_FORK_HANDLERS_H
#define HEW_TESTS_PRELOAD_FORK_HANDLERS_H

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

static unsigned handled[3];      /* how often each of the three was called */
static void *kept_over_fork[32]; /* what the first of them leaves for the other two */

/* Sizes that come from a thread's cache, from bins, from pages and from the system. */
static void
allocate_all_sizes(void)
{
    for (size_t size = 8; size < (size_t)6 << 20; size += size / 2) {
        char *volatile object = malloc(size);
        if (object == NULL) {
            abort();
        }
        object[0] = object[size - 1] = 1;
        free(object);
    }
}

static void
take_handled(void)
{
    handled[0]++;
    allocate_all_sizes();
    malloc_trim(0); /* waits for who is at work on a cache of all threads */
    for (size_t i = 0; i < 32; i++) {
        kept_over_fork[i] = malloc(100 * i);
    }
}

static void
give_handled(void)
{
    malloc_trim(0);
    for (size_t i = 0; i < 32; i++) {
        free(kept_over_fork[i]);
    }
    allocate_all_sizes();
}

static void
give_in_parent(void)
{
    handled[1]++;
    give_handled();
}

static void
give_in_child(void)
{
    handled[2]++;
    give_handled();
}

__attribute__((constructor)) static void
register_handlers(void)
{
    pthread_atfork(take_handled, give_in_parent, give_in_child);
}

#endif

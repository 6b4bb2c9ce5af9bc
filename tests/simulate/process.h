/* SPDX-License-Identifier: MIT */
/*
 * process: the simulated program as a process: fork, with the handlers that the library has registered.
 */
#ifndef HEW_SIMULATE_PROCESS_H
#define HEW_SIMULATE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

struct process_handlers {
    void (*before)(void), (*parent)(void), (*child)(void);
};
extern struct process_handlers process_handlers;

/* 0: no thread has been started yet. */
extern char simulated___libc_single_threaded;

/* What the vector that the kernel gives says of its pages. */
void process_set_page(size_t bytes);

/* fork(): `child` is what the child does before it ends, alone with the calling thread.  What it finds is our finding. */
void process_fork(void (*child)(void));

#endif

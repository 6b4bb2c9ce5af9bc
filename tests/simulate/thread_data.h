/* SPDX-License-Identifier: MIT */
/*
 * thread_data: a place for each simulated thread's `__thread` variables.
 *
 * The places are those of true threads, which sleep for ever on stacks at fixed addresses; a simulated thread runs with
 * the processor's register for thread data pointed at one of them.  So the library's variables, errno and the addresses
 * of both are as they are in any program.
 */
#ifndef HEW_SIMULATE_THREAD_DATA_H
#define HEW_SIMULATE_THREAD_DATA_H

#include <stdint.h>

void thread_data_boot(unsigned threads);
uintptr_t thread_data_of(unsigned thread);
uintptr_t thread_data_of_host(void);

/* This program's variables there are what a new thread finds. */
void thread_data_renew(uintptr_t thread_data);

void thread_data_use(uintptr_t thread_data);

#endif

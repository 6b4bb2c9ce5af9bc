/* SPDX-License-Identifier: MIT */
/*
 * own_thread: a thread of hew's own, in which no signal handler of the program ever runs.
 */
#ifndef HEW_CONTROL_OWN_THREAD_H
#define HEW_CONTROL_OWN_THREAD_H

#include "base/compiler.h"

#include <pthread.h>

/* `stack` bytes, 0: as many as the program's own threads have.  A program's thread-local data lies on each thread's stack and may
 * be larger than a small one: false then, too, and where the process has no functions for threads. */
bool hew_own_thread_create(pthread_t *thread, size_t stack, void *(*work)(void *unused));
void hew_own_thread_join(pthread_t thread);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * own_thread: starts threads of hew, in which no signal handler of the program ever runs.
 */
#ifndef HEW_CONTROL_OWN_THREAD_H
#define HEW_CONTROL_OWN_THREAD_H

#include "base/compiler.h"

#include <pthread.h>

/* `stack` bytes; 0: the size of the program's own threads.  False if a small stack cannot hold the program's
 * thread-local data, which lies on each thread's stack, and if the process has no thread functions. */
bool hew_own_thread_create(pthread_t *thread, size_t stack, void *(*work)(void *unused));
void hew_own_thread_join(pthread_t thread);

#endif

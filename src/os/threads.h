/* SPDX-License-Identifier: MIT */
/*
 * threads: libc's thread functions, if the process has them.
 *
 * Before glibc 2.34 they are in libpthread.so.0, which a program without threads does not load.  Depending on it would
 * cost every process ten page faults, even where it is empty.  So libhew.so references them weakly: code that calls one
 * of the functions below includes this file and checks hew_threads_here() first.  The archive references them strongly
 * (cmake/library.cmake).
 */
#ifndef HEW_OS_THREADS_H
#define HEW_OS_THREADS_H

#include "base/compiler.h"

#include <pthread.h>

#pragma weak pthread_create
#pragma weak pthread_join
#pragma weak pthread_attr_init
#pragma weak pthread_attr_destroy
#pragma weak pthread_attr_setstacksize
#pragma weak pthread_key_create
#pragma weak pthread_setspecific

/* Returns the same value for the life of the process: a libpthread.so.0 loaded by dlopen() is not noticed. */
HEW_INLINE bool
hew_threads_here(void)
{
    return pthread_create != NULL;
}

/* Returns the kernel's mask of all signals except those that libc sends to threads: 32 and 33, with musl also 34. */
uint64_t hew_threads_signals(void);

/* For a thread in a process that was not expected to have threads.  `ends(argument)` is called at the end of the
 * thread, from glibc 2.18 on.  Nothing happens in the first thread, which ends with the process, nor where thread keys
 * exist.  May call malloc. */
void hew_threads_at_end(void (*ends)(void *argument), void *argument);

/* Returns true if no thread other than the caller has ever run in this process, since it started or was forked.
 * Returns false if that cannot be known.  Makes five system calls or more. */
bool hew_threads_never_others(void);

#endif

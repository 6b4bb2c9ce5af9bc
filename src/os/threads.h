/* SPDX-License-Identifier: MIT */
/*
 * threads: libc's functions for threads, where the process has them.
 *
 * Before glibc 2.34 they lie in a library of their own, libpthread.so.0, which a program without threads does not load.  To need it
 * would cost every process ten page faults, also where it is empty, so libhew.so asks for them weakly: who calls one of those below
 * includes this file, and looks at hew_threads_here() first.  The archive asks for them strongly (cmake/library.cmake).
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

/* The same answer for as long as the process lives: a libpthread.so.0 that comes by dlopen() is not seen. */
HEW_INLINE bool
hew_threads_here(void)
{
    return pthread_create != NULL;
}

/* The kernel's mask of all signals but those by which libc speaks to each thread: 32 and 33, with musl 34 as well. */
uint64_t hew_threads_signals(void);

/* For a thread in a process where no thread was to be: `ends(argument)` is called at its end, from glibc 2.18 on.  Nothing
 * happens in the first thread, which ends with the process, nor where there are keys for this.  May call malloc. */
void hew_threads_at_end(void (*ends)(void *argument), void *argument);

/* Whether no thread but the caller has ever run in this process, since it began or was forked.  False also when that cannot
 * be known.  Five system calls or more. */
bool hew_threads_never_others(void);

#endif

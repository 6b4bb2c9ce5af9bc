/* SPDX-License-Identifier: MIT */
/*
 * threads: in the archive only, what libhew.so asks for weakly (os/threads.h) is asked for: a weak reference takes nothing out of
 * libc.a, and a static program has nobody else to bring it.
 */
#include "base/compiler.h"

#include <pthread.h>

typedef void (*function)(void);

HEW_HIDDEN extern const function hew_threads_needed[];
const function hew_threads_needed[] = {
    (function)pthread_create,
    (function)pthread_join,
    (function)pthread_attr_init,
    (function)pthread_attr_destroy,
    (function)pthread_attr_setstacksize,
    (function)pthread_key_create,
    (function)pthread_setspecific,
    (function)pthread_atfork,
};

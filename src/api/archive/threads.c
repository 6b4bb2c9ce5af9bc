/* SPDX-License-Identifier: MIT */
/*
 * threads: in the archive only, strong references to the functions that libhew.so references weakly (os/threads.h).  A
 * weak reference does not pull a member out of libc.a, and in a static program nothing else does.
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

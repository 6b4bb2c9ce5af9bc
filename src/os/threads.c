/* SPDX-License-Identifier: MIT */
/* What a library brought threads into the process by dlopen(), before glibc 2.34, leaves us to notice their ends by. */
#include "os/threads.h"

#include "os/entry.h"

/* libc's own list of what a thread's end calls, made for C++.  Absent in other libcs. */
HEW_WEAK int __cxa_thread_atexit_impl(void (*ends)(void *argument), void *argument, void *library);

void
hew_threads_at_end(void (*ends)(void *argument), void *argument)
{
    if (!hew_threads_here() && __cxa_thread_atexit_impl != NULL && hew_entry_thread() != hew_entry_process()) {
        __cxa_thread_atexit_impl(ends, argument,
                                 (void *)hew_threads_at_end); /* an address of the library that is not to go */
    }
}

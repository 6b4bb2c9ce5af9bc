/* SPDX-License-Identifier: MIT */
/* What a library brought threads into the process by dlopen(), before glibc 2.34, leaves us to notice their ends by; and what
 * the kernel remembers of threads that have ended. */
#include "os/threads.h"

#include "os/clock.h"
#include "os/entry.h"
#include "os/syscall.h"

#include <sys/resource.h>

#define LOOKS 8
#define LIFE_NS 5000 /* less processor time than a thread needs to begin and end: 10,000 and more */

/* libc's own list of what a thread's end calls, made for C++.  Absent in other libcs. */
HEW_WEAK int __cxa_thread_atexit_impl(void (*ends)(void *argument), void *argument, void *library);

HEW_WEAK int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void),
                               void *library); /* glibc's */

uint64_t
hew_threads_signals(void)
{
    return ~(UINT64_C(__register_atfork == NULL ? 7 : 3) << 31);
}

void
hew_threads_at_end(void (*ends)(void *argument), void *argument)
{
    if (!hew_threads_here() && __cxa_thread_atexit_impl != NULL && hew_entry_thread() != hew_entry_process()) {
        __cxa_thread_atexit_impl(ends, argument,
                                 (void *)hew_threads_at_end); /* an address of the library that is not to go */
    }
}

/* Page faults, and how often a processor was given to another thread. */
static long
events_of(int who)
{
    struct rusage usage = {0};
    hew_syscall2(SYS_getrusage, who, &usage);
    return usage.ru_minflt + usage.ru_majflt + usage.ru_nvcsw + usage.ru_nivcsw;
}

/* What all threads have used beyond the caller, others have: the kernel keeps the sums of those that have ended.  Either sum alone
 * can miss a thread whose life was short. */
bool
hew_threads_never_others(void)
{
    for (unsigned look = 0; look < LOOKS; look++) {
        uint64_t before = hew_clock_thread_ns(), all = hew_clock_process_ns(), after = hew_clock_thread_ns();
        long own_events = events_of(RUSAGE_THREAD), all_events = events_of(RUSAGE_SELF);
        if (all > after) {
            return false;
        }
        if (after - before < LIFE_NS && all_events == own_events) {
            return true;
        }
    }
    return false;
}

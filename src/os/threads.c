/* SPDX-License-Identifier: MIT */
/* How to notice the end of a thread if dlopen() brought threads into the process, before glibc 2.34; and what the
 * kernel remembers of threads that have ended. */
#include "os/threads.h"

#include "os/clock.h"
#include "os/entry.h"
#include "os/syscall.h"

#include <sys/resource.h>

#define LOOKS 8
#define LIFE_NS 5000 /* less CPU time than a thread needs to start and end: 10,000 and more */

/* libc's list of functions to call at the end of a thread, made for C++. Other libcs do not have it. */
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
                                 (void *)hew_threads_at_end); /* an address in the library that must stay loaded */
    }
}

/* Returns the number of page faults and context switches. */
static long
events_of(int who)
{
    struct rusage usage = {0};
    hew_syscall2(SYS_getrusage, who, &usage);
    return usage.ru_minflt + usage.ru_majflt + usage.ru_nvcsw + usage.ru_nivcsw;
}

/* If the process has used more than the calling thread, other threads have run: the kernel keeps the sums of ended
 * threads.  Either sum alone can miss a short-lived thread. */
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

/* SPDX-License-Identifier: MIT */
#include "control/own_thread.h"

#include "os/syscall.h"
#include "os/threads.h"

#include <signal.h>

bool
hew_own_thread_create(pthread_t *thread, size_t stack, void *(*work)(void *unused))
{
    pthread_attr_t attributes;
    uint64_t all = hew_threads_signals(), before;
    if (!hew_threads_here() || pthread_attr_init(&attributes) != 0) {
        return false;
    }
    if (stack != 0) {
        pthread_attr_setstacksize(&attributes, stack);
    }
    hew_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof before);
    bool created = pthread_create(thread, &attributes, work, NULL) == 0;
    hew_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    pthread_attr_destroy(&attributes);
    return created;
}

void
hew_own_thread_join(pthread_t thread)
{
    pthread_join(thread, NULL);
}

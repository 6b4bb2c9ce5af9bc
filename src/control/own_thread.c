/* SPDX-License-Identifier: MIT */
#include "control/own_thread.h"

#include "os/threads.h"

bool
hew_own_thread_create(pthread_t *thread, size_t stack, void *(*work)(void *unused))
{
    pthread_attr_t attributes;
    sigset_t all, before;
    if (!hew_threads_here() || pthread_attr_init(&attributes) != 0) {
        return false;
    }
    if (stack != 0) {
        pthread_attr_setstacksize(&attributes, stack);
    }
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bool created = pthread_create(thread, &attributes, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return created;
}

void
hew_own_thread_join(pthread_t thread)
{
    pthread_join(thread, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * fork_handlers: handlers of fork() that allocate, registered before the process has called malloc: by the program's
 * constructor, by that of a library which it is linked to, and by that of one that it opens; other threads allocate meanwhile.
 * With the argument `guarded` one more handler holds a lock of the program's, under which the other threads allocate, over
 * each fork: our own handlers must be the closest to it.
 *
 * A process that hangs is ended by its alarm.
 */
#include "fork_handlers.h"
#include "stuck.h"
#include "under_test.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { FORKS = 40, ALLOCATORS = 3 };

#ifndef HEW_TEST_STATIC
const unsigned *fork_handlers_counts(void);
#endif

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static bool guarded;
static atomic_bool stop, about_to_fork;

static void
lock_own(void)
{
    pthread_mutex_lock(&own);
}

/* A mutex promises no order: a thread that always has the lock again before its next waiter runs would keep it. */
static void
lock_own_to_fork(void)
{
    about_to_fork = true;
    lock_own();
    about_to_fork = false;
}

static void
unlock_own(void)
{
    pthread_mutex_unlock(&own);
}

static void *
allocate_until_told(void *unused)
{
    while (!stop) {
        if (guarded) {
            lock_own();
        }
        allocate_all_sizes();
        if (guarded) {
            unlock_own();
            while (about_to_fork) {
                sched_yield();
            }
        }
    }
    return unused;
}

static bool
fork_once(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        alarm(STUCK_SECONDS);
        allocate_all_sizes();
        pthread_t thread;
        stop = true;
        bool right = pthread_create(&thread, NULL, allocate_until_told, NULL) == 0 && pthread_join(thread, NULL) == 0;
        _exit(right ? 0 : 1);
    }
    return waitpid(child, &status, 0) == child && status == 0;
}

static bool
called(const unsigned *counts, unsigned forks)
{
    return counts != NULL && counts[0] == forks && counts[1] == forks && counts[2] == 0;
}

static bool
libraries_were_called(void)
{
#ifdef HEW_TEST_STATIC
    return true;
#else
    void *opened = dlopen(HEW_TEST_OPENED, RTLD_NOW | RTLD_NOLOAD);
    const unsigned *(*counts)(void) = NULL;
    *(void **)&counts = opened == NULL ? NULL : dlsym(opened, "fork_handlers_counts");
    return called(fork_handlers_counts(), FORKS) && counts != NULL && counts != fork_handlers_counts &&
           called(counts(), FORKS);
#endif
}

int
main(int argc, char **argv)
{
    pthread_t threads[ALLOCATORS];
    bool right = true;
    alarm(STUCK_SECONDS);
    guarded = argc > 1 && strcmp(argv[1], "guarded") == 0;
    if (guarded) {
        pthread_atfork(lock_own_to_fork, unlock_own, unlock_own);
    }
#ifndef HEW_TEST_STATIC
    if (dlopen(HEW_TEST_OPENED, RTLD_NOW | RTLD_LOCAL) == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
#endif
    for (unsigned i = 0; i < ALLOCATORS; i++) {
        right &= pthread_create(&threads[i], NULL, allocate_until_told, NULL) == 0;
    }
    for (unsigned i = 0; right && i < FORKS; i++) {
        right = fork_once();
    }
    stop = true;
    for (unsigned i = 0; i < ALLOCATORS; i++) {
        pthread_join(threads[i], NULL);
    }
    right = right && called(handled, FORKS) && libraries_were_called();
    printf("%s\n", right ? "ok" : "wrong");
    return right ? 0 : 1;
}

/* SPDX-License-Identifier: MIT */
/*
 * overflow: a program that writes on past the end of a large object, as far as it can.  It ends in memory that cannot be accessed before
 * it has come to hew's own data: what was allocated before can be freed, and more be had.
 */
#include "under_test.h"

#include <signal.h>
#include <sys/wait.h>

enum { OBJECTS = 4000, SMALL = 64, WORKED = 23 };
static const size_t large = (size_t)64 << 20;

static void *objects[OBJECTS];

/* Where the write ended.  The thread's own data are sound: they lie above what can be reached from a new large mapping. */
static void
go_on(int signal_number)
{
    (void)signal_number;
    for (size_t i = 0; i < OBJECTS; i++)
        free(objects[i]);
    for (size_t i = 0; i < OBJECTS; i++) {
        objects[i] = malloc(SMALL);
        if (objects[i] == NULL)
            _exit(1);
        memset(objects[i], 1, SMALL);
    }
    _exit(WORKED);
}

static _Noreturn void
overflow(volatile char *object)
{
    static char stack[64 * 1024];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = go_on, .sa_flags = SA_ONSTACK | SA_NODEFER | SA_RESETHAND};
    sigaltstack(&own, NULL);
    sigaction(SIGSEGV, &action, NULL);
    for (;; object++)
        *object = 0x5a;
}

int
main(void)
{
    for (size_t i = 0; i < OBJECTS; i++)
        objects[i] = malloc(SMALL);
    char *object = malloc(large);
    if (object == NULL)
        return 2;
    pid_t child = fork();
    if (child == 0)
        overflow(object + large);
    int status = 0;
    waitpid(child, &status, 0);
    bool worked = WIFEXITED(status) && WEXITSTATUS(status) == WORKED;
    printf("%s - an object that is written past its end ends the program at once, or leaves hew whole (status %#x)\n",
           worked ? "ok" : "not ok", (unsigned)status);
    free(object);
    return !worked;
}

/* SPDX-License-Identifier: MIT */
/*
 * main_thread_exits: a process whose main thread has called pthread_exit ends when its other threads have ended: a thread
 * of the allocator's own must not keep it alive.  What runs at exit still has a thread's full stack.
 */
#include "under_test.h"

#include <pthread.h>

#define BURST ((size_t)32 << 20)

static void
burst(void)
{
    char *object = malloc(BURST);
    memset(object, 1, BURST);
    free(object);
    free(malloc(BURST / 2)); /* where the thread may be started, if the first pair could not */
}

/* Of the process's first thread, as the system tells it: Z once it has exited. */
static char
state_of_main(void)
{
    char text[128] = "";
    const char *end = under_test_stat(text, sizeof text);
    return end == NULL ? '\0' : end[2];
}

static void *
outlive_main(void *unused)
{
    (void)unused;
    while (state_of_main() != 'Z')
        under_test_sleep_ms(1);
    burst();
    return NULL;
}

static void
use_much_stack(void)
{
    volatile char room[256 << 10];
    memset((char *)room, 1, sizeof room);
    puts("at exit");
}

int
main(int count, char **arguments)
{
    pthread_t thread;
    atexit(use_much_stack);
    burst();
    if (count > 1 && strcmp(arguments[1], "last") != 0 && pthread_create(&thread, NULL, outlive_main, NULL) != 0)
        return 1;
    pthread_exit(NULL);
}

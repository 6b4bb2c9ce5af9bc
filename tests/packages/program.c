/* SPDX-License-Identifier: MIT */
/*
 * program: what each package is tried with. Threads allocate and free, a child does, and then hew is asked how much it has.
 * Prints hew's version; exits with 1 when the memory is not hew's. NAME(malloc): with a prefix, -DNAME=... says which.
 */
#include <hew.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef NAME
#define NAME(name) name
#endif
void *NAME(malloc)(size_t size);
void *NAME(realloc)(void *object, size_t size);
void NAME(free)(void *object);

static void *
work(void *argument)
{
    for (size_t i = 0; i < 100000; i++) {
        size_t size = 1 + i * 7919 % 5000;
        unsigned char *object = NAME(malloc)(size);
        memset(object, (int)(i & 127), size);
        object = NAME(realloc)(object, size + 100);
        if (object[0] != (i & 127) || object[size - 1] != (i & 127)) {
            abort();
        }
        NAME(free)(object);
    }
    return argument;
}

int
main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    pid_t child = fork();
    if (child == 0) {
        work(NULL);
        _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    void *volatile held = NAME(malloc)(1 << 20);
    struct hew_figures figures = {0};
    hew_read_figures(&figures, sizeof figures);
    printf("hew %s\n", hew_version());
    return status != 0 || held == NULL || figures.allocated < 1 << 20;
}

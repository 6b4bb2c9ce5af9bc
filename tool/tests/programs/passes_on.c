// SPDX-License-Identifier: MIT
// Two threads: one makes 20,000 objects, the other frees them.  Then by its first argument: exit (nothing), kill, fork, exec.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OBJECTS 20000

static void *objects[OBJECTS];

static void *
frees(void *argument)
{
    for (int i = 0; i < OBJECTS; i++) {
        void *object;
        while ((object = __atomic_load_n(&objects[i], __ATOMIC_ACQUIRE)) == NULL) {
            usleep(10);
        }
        free(object);
    }
    return NULL;
}

static void
child(void)
{
    for (int i = 0; i < 500; i++) {
        free(malloc(77));
    }
    _exit(0);
}

int
main(int argc, char **argv)
{
    const char *then = argc > 1 ? argv[1] : "exit";
    pthread_t thread;

    pthread_create(&thread, NULL, frees, NULL);
    for (int i = 0; i < OBJECTS; i++) {
        char *object = i % 3 == 0 ? calloc(1, 100) : malloc(1000 + i % 7);
        object = i % 5 == 0 ? realloc(object, 2000) : object;
        __atomic_store_n(&objects[i], object, __ATOMIC_RELEASE);
    }
    pthread_join(thread, NULL);
    if (strcmp(then, "kill") == 0) {
        raise(SIGKILL);
    }
    if (strcmp(then, "fork") == 0) {
        pid_t forked = fork();
        if (forked == 0) {
            child();
        }
        waitpid(forked, NULL, 0);
    }
    if (strcmp(then, "exec") == 0) {
        execl("/bin/sh", "sh", "-c", ":", NULL);
    }
    return 0;
}

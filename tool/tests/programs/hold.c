// SPDX-License-Identifier: MIT
/* Threads that each take some memory, give part of it back, and then only wait.
 *
 *     hold THREADS SIZE COUNT KEEP MILLISECONDS
 *
 * Each of the THREADS allocates COUNT objects of SIZE bytes, writes them, and frees all but every KEEP-th (0: all).  Then
 * all threads wait for MILLISECONDS; the report at the end is written while the threads live.  A line "ready" on standard
 * output tells when waiting begins. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t size, amount, keep;
static pthread_barrier_t filled, finished;

static void *
work(void *unused)
{
    char **objects = calloc(amount, sizeof *objects);

    (void)unused;
    for (size_t i = 0; i < amount; i++) {
        objects[i] = malloc(size);
        memset(objects[i], 1, size);
    }
    /* No thread frees before all have allocated: memory freed by one would serve the next. */
    pthread_barrier_wait(&filled);
    for (size_t i = 0; i < amount; i++)
        if (keep == 0 || i % keep != 0)
            free(objects[i]);
    pthread_barrier_wait(&finished);
    for (;;)
        pause();
    return NULL;
}

int
main(int count, char **words)
{
    pthread_attr_t small;
    pthread_t thread;

    if (count < 6)
        return 2;
    int threads = atoi(words[1]);
    size = strtoul(words[2], NULL, 10);
    amount = strtoul(words[3], NULL, 10);
    keep = strtoul(words[4], NULL, 10);
    pthread_barrier_init(&filled, NULL, (unsigned)threads);
    pthread_barrier_init(&finished, NULL, (unsigned)threads + 1);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread, &small, work, NULL) != 0)
            return 1;
    pthread_barrier_wait(&finished);
    if (write(STDOUT_FILENO, "ready\n", 6) != 6)
        return 1;
    usleep((useconds_t)atoi(words[5]) * 1000);
    exit(0);
}

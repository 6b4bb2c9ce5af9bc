// SPDX-License-Identifier: MIT
/* Threads that allocate and free batches of one size for a while, and are still there when the program ends.
 *
 *     churn THREADS SIZE BATCH MILLISECONDS [STRIDE [LEAVE]]
 *
 * Of the THREADS every STRIDE-th works (every one by default); the others allocate once and wait.  Every page of an object
 * is written.  The report at the end is written while the threads live, as in a server; with LEAVE 1 they have ended, as
 * in most programs. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static size_t size, batch;
static double seconds;
static atomic_int ready, finished;
static int threads, stride;
static bool leave;

static double
now(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static void
churn(void)
{
    char **objects = calloc(batch, sizeof *objects);
    double deadline = now() + seconds; /* however long the threads took to be there */

    while (now() < deadline) {
        for (size_t i = 0; i < batch; i++) {
            objects[i] = malloc(size);
            for (size_t at = 0; at < size; at += 4096)
                objects[i][at] = 1;
        }
        for (size_t i = 0; i < batch; i++)
            free(objects[i]);
    }
    free(objects);
}

static void *
work(void *number)
{
    void *volatile once = malloc(16);

    (void)once;
    atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < threads)
        usleep(1000);
    if ((int)(intptr_t)number % stride == 0)
        churn();
    atomic_fetch_add(&finished, 1);
    while (!leave)
        pause();
    return NULL;
}

int
main(int count, char **words)
{
    pthread_t *thread;

    if (count < 5)
        return 2;
    threads = atoi(words[1]);
    size = strtoul(words[2], NULL, 10);
    batch = strtoul(words[3], NULL, 10);
    stride = count > 5 ? atoi(words[5]) : 1;
    leave = count > 6 && atoi(words[6]) == 1;
    thread = calloc((size_t)threads, sizeof *thread);
    seconds = atof(words[4]) / 1000;
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&thread[i], NULL, work, (void *)(intptr_t)i) != 0)
            return 1;
        while (atomic_load(&ready) <= i) /* in order: which threads share an arena is not left to chance */
            usleep(100);
    }
    while (atomic_load(&finished) < threads)
        usleep(1000);
    for (int i = 0; leave && i < threads; i++)
        pthread_join(thread[i], NULL);
    exit(0);
}

/* SPDX-License-Identifier: MIT */
/*
 * vectors: arrays that grow by half with realloc, many at a time in each thread; now and then one begins anew.
 *
 * What is asked of an allocator: growth in place, what it does with the places left behind, and both at once in all threads.
 */
#include "workload.h"

#include <pthread.h>

enum { THREADS_MOST = 256, VECTORS = 64, APPENDED_MOST = 8, RESTART_OF = 20000 };

struct vector {
    uint32_t *items;
    size_t count, room;
};

static long threads = 1, appends = 1000000;

static void
append(struct vector *vector, uint32_t item)
{
    if (vector->count == vector->room) {
        vector->room += vector->room / 2 + 4;
        vector->items = workload_grow(vector->items, vector->room * sizeof *vector->items);
    }
    vector->items[vector->count++] = item;
}

static void *
fill(void *argument)
{
    uint64_t random = workload_scramble((uint64_t)(uintptr_t)argument), sum = 0;
    struct vector vectors[VECTORS] = {{NULL, 0, 0}};
    for (long i = 0; i < appends; i++) {
        struct vector *vector = &vectors[workload_random(&random) % VECTORS];
        uint64_t items = workload_between(&random, 1, APPENDED_MOST);
        for (uint64_t item = 0; item < items; item++)
            append(vector, (uint32_t)i);
        if (workload_random(&random) % RESTART_OF == 0) {
            sum += vector->items[vector->count / 2];
            free(vector->items);
            *vector = (struct vector){NULL, 0, 0};
        }
    }
    for (size_t i = 0; i < VECTORS; i++) {
        sum += vectors[i].count;
        free(vectors[i].items);
    }
    return (void *)(uintptr_t)sum;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "threads"},
        {"appends", &appends, "appends of one to eight items in each thread"},
    };
    pthread_t thread[THREADS_MOST];
    uint64_t sum = 0;
    workload_parse(argc, argv, "Arrays that grow by realloc.", options, 2);
    workload_require("threads", threads, 1, THREADS_MOST);
    double start = workload_seconds();
    for (long i = 0; i < threads; i++) {
        if (pthread_create(&thread[i], NULL, fill, (void *)(uintptr_t)i) != 0)
            workload_fail("vectors", "cannot start a thread");
    }
    for (long i = 0; i < threads; i++) {
        void *part;
        pthread_join(thread[i], &part);
        sum += (uint64_t)(uintptr_t)part;
    }
    workload_report("vectors", (uint64_t)(threads * appends), workload_seconds() - start, sum);
    return 0;
}

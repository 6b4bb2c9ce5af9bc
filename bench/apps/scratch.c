/* SPDX-License-Identifier: MIT */
/*
 * scratch: does the allocator put two threads' objects on one cache line?
 *
 * After Berger's cache-scratch and cache-thrash (Hoard, 2000).  Passive: main allocates one small object per thread,
 * so they may be neighbours; each thread frees the one it was given, then allocates, writes and frees its own.  An
 * allocator that hands the freed neighbours out again makes the threads fight over a line.  Active (--passive 0): the
 * threads only use objects of their own.
 */
#include "workload.h"

#include <pthread.h>

enum { THREADS_MOST = 256 };

struct scratcher {
    pthread_t thread;
    volatile unsigned char *given;
    uint64_t sum;
};

static long threads = 4, passive = 1, size = 8, repeats = 50000, writes = 100000;

static void *
scratch(void *argument)
{
    struct scratcher *self = argument;
    free((void *)self->given);
    for (long i = 0; i < repeats; i++) {
        volatile unsigned char *object = workload_take((size_t)size);
        object[0] = 0;
        for (long k = 0; k < writes / threads; k++)
            object[0]++;
        self->sum += object[0];
        free((void *)object);
    }
    return NULL;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "threads"},
        {"passive", &passive, "1: main allocates each thread's first object; 0: it does not"},
        {"size", &size, "bytes per object"},
        {"repeats", &repeats, "objects that each thread makes in turn"},
        {"writes", &writes, "writes to each object, divided by the threads"},
    };
    static struct scratcher scratcher[THREADS_MOST];
    workload_parse(argc, argv, "False sharing: small objects of several threads, written all the time.", options, 5);
    workload_require("threads", threads, 1, THREADS_MOST);
    workload_require("size", size, 1, 1l << 30);
    double start = workload_seconds();
    uint64_t checksum = 0;
    for (long i = 0; i < threads; i++)
        scratcher[i].given = passive ? workload_take((size_t)size) : NULL;
    for (long i = 0; i < threads; i++)
        pthread_create(&scratcher[i].thread, NULL, scratch, &scratcher[i]);
    for (long i = 0; i < threads; i++) {
        pthread_join(scratcher[i].thread, NULL);
        checksum += scratcher[i].sum;
    }
    workload_report("scratch", (uint64_t)(threads * repeats), workload_seconds() - start, checksum);
    return 0;
}

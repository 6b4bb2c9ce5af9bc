/* SPDX-License-Identifier: MIT */
/*
 * idle_threads: many threads that have once worked and then only wait: what memory do they keep?
 *
 * Each thread makes and frees objects of every small size, keeps one, and waits.  RSS is read before the first thread,
 * once all have worked, and then while they idle; a point's place is milliseconds idle + 1.
 */
#include "workload.h"

#include <pthread.h>

enum { THREADS_MOST = 10000, AT_ONCE = 64, STACK = 64 << 10 };

static long threads = 1000, objects = 2000, idle_ms = 2000, every_ms = 250;
static pthread_barrier_t worked, over;

static void *
work_and_wait(void *argument)
{
    uint64_t random = workload_scramble((uint64_t)(uintptr_t)argument);
    unsigned char *object[AT_ONCE] = {NULL};
    for (long i = 0; i < objects; i++) {
        size_t size = workload_log_size(&random, 4, i % 32 == 0 ? 15 : 10);
        free(object[i % AT_ONCE]);
        object[i % AT_ONCE] = workload_take(size);
        memset(object[i % AT_ONCE], 1, size);
    }
    for (size_t i = 1; i < AT_ONCE; i++)
        free(object[i]);
    pthread_barrier_wait(&worked);
    pthread_barrier_wait(&over);
    free(object[0]);
    return NULL;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "threads"},
        {"objects", &objects, "allocations of each thread before it waits"},
        {"idle-ms", &idle_ms, "how long to wait, in milliseconds"},
        {"every", &every_ms, "milliseconds between two readings of RSS"},
    };
    static pthread_t thread[THREADS_MOST];
    pthread_attr_t attributes;
    workload_parse(argc, argv, "Threads that have worked and wait: RSS over time.", options, 4);
    workload_require("threads", threads, 1, THREADS_MOST);
    workload_require("every", every_ms, 1, 1l << 30);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_barrier_init(&worked, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&over, NULL, (unsigned)threads + 1);
    long floor_kib = workload_rss_kib();
    double start = workload_seconds();
    for (long i = 0; i < threads; i++) {
        if (pthread_create(&thread[i], &attributes, work_and_wait, (void *)(uintptr_t)i) != 0)
            workload_fail("idle_threads", "cannot start a thread");
    }
    pthread_barrier_wait(&worked);
    double busy = workload_seconds() - start;
    for (long waited = 0; waited <= idle_ms; waited += every_ms) {
        workload_rss_point("RSS by milliseconds idle", waited + 1);
        workload_sleep_ms(every_ms);
    }
    fprintf(stderr, "idle_threads: %ld KiB RSS per thread above the floor of %ld KiB\n",
            (workload_rss_kib() - floor_kib) / threads, floor_kib);
    pthread_barrier_wait(&over);
    for (long i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    workload_report("idle_threads", (uint64_t)(threads * objects), busy, workload_scramble((uint64_t)threads));
    return 0;
}

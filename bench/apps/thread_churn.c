/* SPDX-License-Identifier: MIT */
/*
 * thread_churn: very many threads with very short lives, a few at a time.
 *
 * Each thread allocates a little, frees it and ends: what the allocator sets up for a thread, and gives back when it
 * ends, is most of the work.  One object of each thread is freed by a later one.  RSS at start and end go to stderr.
 */
#include "workload.h"

#include <pthread.h>
#include <stdatomic.h>

enum { AT_ONCE_MOST = 1024 };

static long threads = 40000, at_once = 8, objects = 60;
static _Atomic(unsigned char *) left_behind;
static _Atomic uint64_t checksum_total;

static void *
live_briefly(void *argument)
{
    uint64_t random = workload_scramble((uint64_t)(uintptr_t)argument), sum = 0;
    unsigned char *object[64];
    long held = objects < 64 ? objects : 64;
    for (long i = 0; i < objects; i++) {
        size_t size = workload_log_size(&random, 3, i % 16 == 0 ? 14 : 9);
        if (i >= held)
            free(object[i % held]);
        object[i % held] = workload_take(size);
        object[i % held][0] = object[i % held][size - 1] = (unsigned char)i;
        sum += size;
    }
    for (long i = 1; i < held; i++)
        free(object[i]);
    free(atomic_exchange(&left_behind, object[0]));
    checksum_total += sum;
    return NULL;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "threads in all"},
        {"at-once", &at_once, "threads alive at once"},
        {"objects", &objects, "allocations per thread"},
    };
    pthread_t thread[AT_ONCE_MOST];
    workload_parse(argc, argv, "Thread churn: thousands of short-lived threads that allocate a little.", options, 3);
    workload_require("at-once", at_once, 1, AT_ONCE_MOST);
    workload_require("objects", objects, 1, 1l << 30);
    double start = workload_seconds();
    long rss_at_start = workload_rss_kib();
    for (long i = 0; i < threads + at_once; i++) {
        if (i >= at_once && i - at_once < threads)
            pthread_join(thread[i % at_once], NULL);
        if (i < threads && pthread_create(&thread[i % at_once], NULL, live_briefly, (void *)(uintptr_t)i) != 0)
            workload_fail("thread_churn", "cannot start a thread");
    }
    free(left_behind);
    fprintf(stderr, "thread_churn: %ld KiB RSS at the start, %ld KiB at the end\n", rss_at_start, workload_rss_kib());
    workload_report("thread_churn", (uint64_t)threads, workload_seconds() - start, checksum_total);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * large_touch: large blocks taken, written and given back over and over, as image and matrix code does.
 *
 * Most of the time goes to page faults where an allocator returns each block to the system at once.
 */
#include "workload.h"

#include <pthread.h>

enum { THREADS_MOST = 256, HELD = 4 };

static long threads = 1, blocks = 3000, low_bit = 16, high_bit = 23;

static void *
churn(void *argument)
{
    uint64_t random = workload_scramble((uint64_t)(uintptr_t)argument), sum = 0;
    unsigned char *held[HELD] = {NULL};
    for (long i = 0; i < blocks; i++) {
        size_t size = workload_log_size(&random, (unsigned)low_bit, (unsigned)high_bit);
        free(held[i % HELD]);
        held[i % HELD] = workload_take(size);
        for (size_t at = 0; at < size; at += 512)
            held[i % HELD][at] = (unsigned char)i;
        sum += size;
    }
    for (size_t i = 0; i < HELD; i++)
        free(held[i]);
    return (void *)(uintptr_t)sum;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "threads"},
        {"blocks", &blocks, "blocks that each thread takes"},
        {"low-bit", &low_bit, "smallest block, as a power of two"},
        {"high-bit", &high_bit, "blocks stay below this power of two"},
    };
    pthread_t thread[THREADS_MOST];
    uint64_t sum = 0;
    workload_parse(argc, argv, "Large blocks, taken, touched and freed.", options, 4);
    workload_require("threads", threads, 1, THREADS_MOST);
    workload_require("low-bit", low_bit, 4, 40);
    workload_require("high-bit", high_bit, low_bit + 1, 41);
    double start = workload_seconds();
    for (long i = 0; i < threads; i++) {
        if (pthread_create(&thread[i], NULL, churn, (void *)(uintptr_t)i) != 0)
            workload_fail("large_touch", "cannot start a thread");
    }
    for (long i = 0; i < threads; i++) {
        void *part;
        pthread_join(thread[i], &part);
        sum += (uint64_t)(uintptr_t)part;
    }
    workload_report("large_touch", (uint64_t)(threads * blocks), workload_seconds() - start, sum);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * xmalloc_like: some threads only allocate, others only free; objects cross over in batches.
 *
 * The idea is Lever and Boreham's (2000) malloc-test.  It is the hardest pattern for per-thread caches: nothing that a
 * thread frees is ever of use to that thread.
 */
#include "channel.h"
#include "workload.h"

#include <stdatomic.h>

enum { BATCH = 512, THREADS_MOST = 256 };

struct batch {
    unsigned char *object[BATCH];
};

static long producers = 2, consumers = 2, batches = 60000, low_bit = 4, high_bit = 10;
static struct channel handoff;
static _Atomic uint64_t checksum_total;

static void *
produce(void *argument)
{
    for (long number = (long)(intptr_t)argument; number < batches; number += producers) {
        uint64_t random = workload_scramble((uint64_t)number);
        struct batch *batch = workload_take(sizeof *batch);
        for (size_t i = 0; i < BATCH; i++) {
            size_t size = workload_log_size(&random, (unsigned)low_bit, (unsigned)high_bit);
            batch->object[i] = workload_take(size);
            batch->object[i][0] = (unsigned char)random;
            batch->object[i][size - 1] = (unsigned char)random;
        }
        channel_put(&handoff, batch);
    }
    return NULL;
}

static void *
consume(void *argument)
{
    struct batch *batch;
    uint64_t sum = 0;
    while ((batch = channel_get(&handoff)) != NULL) {
        for (size_t i = 0; i < BATCH; i++) {
            sum += batch->object[i][0];
            free(batch->object[i]);
        }
        free(batch);
    }
    checksum_total += sum;
    return argument;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"producers", &producers, "threads that allocate"},
        {"consumers", &consumers, "threads that free"},
        {"batches", &batches, "batches of 512 objects in all"},
        {"low-bit", &low_bit, "the smallest object has 2 to this power bytes"},
        {"high-bit", &high_bit, "every object has fewer than 2 to this power bytes"},
    };
    pthread_t producer[THREADS_MOST], consumer[THREADS_MOST];
    workload_parse(argc, argv, "Producers allocate, consumers free, batches in between.", options, 5);
    workload_require("producers", producers, 1, THREADS_MOST);
    workload_require("consumers", consumers, 1, THREADS_MOST);
    workload_require("low-bit", low_bit, 0, 30);
    workload_require("high-bit", high_bit, low_bit + 1, 31);
    double start = workload_seconds();
    channel_open(&handoff);
    for (long i = 0; i < consumers; i++)
        pthread_create(&consumer[i], NULL, consume, NULL);
    for (long i = 0; i < producers; i++)
        pthread_create(&producer[i], NULL, produce, (void *)(intptr_t)i);
    for (long i = 0; i < producers; i++)
        pthread_join(producer[i], NULL);
    channel_close(&handoff);
    for (long i = 0; i < consumers; i++)
        pthread_join(consumer[i], NULL);
    workload_report("xmalloc_like", (uint64_t)batches * BATCH, workload_seconds() - start, checksum_total);
    return 0;
}

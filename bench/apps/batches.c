/* SPDX-License-Identifier: MIT */
/*
 * batches: batches of equal small objects, freed partly and in another order than they were made.
 *
 * After what is published of the SmartHeap benchmarks sh6bench and sh8bench: small sizes, the smaller the more often, in
 * batches; a batch is freed as it was made, backwards or in strides, and one in four keeps every other object for long.
 * Each thread has batches of its own.
 */
#include "workload.h"

#include <pthread.h>

enum { THREADS_MOST = 256, RING = 24, STRIDE = 7 };

struct batch {
    unsigned char **object;
    size_t size;
    size_t step; /* between two objects that are still there */
    unsigned char mark;
};

struct worker {
    pthread_t thread;
    uint64_t random;
    uint64_t checksum;
    struct batch recent[RING];
    struct batch thinned[RING];
};

static long threads = 1, batches = 20000, batch_size = 250, largest = 1000;

/* Squaring a uniform draw makes small sizes more likely: half of them lie under a quarter of the largest. */
static size_t
draw_size(uint64_t *random)
{
    uint64_t draw = workload_random(random) % 1024;
    return 1 + (size_t)(draw * draw * (uint64_t)largest >> 20);
}

static void
fill(struct batch *batch, struct worker *self)
{
    batch->size = draw_size(&self->random);
    batch->step = 1;
    batch->mark = (unsigned char)workload_random(&self->random);
    batch->object = workload_take((size_t)batch_size * sizeof *batch->object);
    for (long i = 0; i < batch_size; i++) {
        batch->object[i] = workload_take(batch->size);
        batch->object[i][batch->size - 1] = (unsigned char)i;
        batch->object[i][0] = batch->mark;
    }
    self->checksum = workload_mix(self->checksum, batch->size);
}

static void
drop_object(const struct batch *batch, size_t place)
{
    unsigned char *object = batch->object[place];
    if (object[0] != batch->mark || (batch->size > 1 && object[batch->size - 1] != (unsigned char)place))
        workload_fail("batches", "an object has changed");
    free(object);
}

/* Frees every object that is left, in one of three orders. */
static void
drop(struct batch *batch, uint64_t order)
{
    size_t count = batch->object == NULL ? 0 : ((size_t)batch_size + batch->step - 1) / batch->step;
    for (size_t i = 0; order == 0 && i < count; i++)
        drop_object(batch, i * batch->step);
    for (size_t i = count; order == 1 && i > 0; i--)
        drop_object(batch, (i - 1) * batch->step);
    for (size_t first = 0; order == 2 && first < STRIDE; first++) {
        for (size_t i = first; i < count; i += STRIDE)
            drop_object(batch, i * batch->step);
    }
    free(batch->object);
    batch->object = NULL;
}

/* Every other object goes, the others outlive the ring. */
static void
thin(struct batch *batch, struct batch *thinned)
{
    for (size_t i = 1; i < (size_t)batch_size; i += 2)
        drop_object(batch, i);
    batch->step = 2;
    *thinned = *batch;
}

static void *
work(void *argument)
{
    struct worker *self = argument;
    for (long i = 0; i < batches / threads; i++) {
        struct batch *batch = &self->recent[workload_random(&self->random) % RING];
        struct batch *thinned = &self->thinned[(size_t)i / 4 % RING];
        if (i % 4 == 3 && batch->object != NULL) {
            drop(thinned, 2);
            thin(batch, thinned);
        } else {
            drop(batch, workload_random(&self->random) % 3);
        }
        fill(batch, self);
    }
    for (size_t i = 0; i < RING; i++) {
        drop(&self->recent[i], 1);
        drop(&self->thinned[i], 0);
    }
    return NULL;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "threads, each with batches of its own"},
        {"batches", &batches, "batches in all"},
        {"batch", &batch_size, "objects in a batch"},
        {"largest", &largest, "bytes of the largest object"},
    };
    static struct worker worker[THREADS_MOST];
    uint64_t checksum = 0;
    workload_parse(argc, argv, "Batches of small objects, freed partly and out of order.", options, 4);
    workload_require("threads", threads, 1, THREADS_MOST);
    workload_require("batch", batch_size, 1, 1l << 24);
    workload_require("largest", largest, 1, 1l << 24);
    double start = workload_seconds();
    for (long i = 0; i < threads; i++) {
        worker[i].random = workload_scramble((uint64_t)i);
        if (pthread_create(&worker[i].thread, NULL, work, &worker[i]) != 0)
            workload_fail("batches", "cannot start a thread");
    }
    for (long i = 0; i < threads; i++) {
        pthread_join(worker[i].thread, NULL);
        checksum += worker[i].checksum;
    }
    workload_report("batches", (uint64_t)(batches / threads * threads) * (uint64_t)batch_size,
                    workload_seconds() - start, checksum);
    return 0;
}

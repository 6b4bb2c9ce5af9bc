/* SPDX-License-Identifier: MIT */
/*
 * crowd: many more threads than processors, each of which works in bursts.
 *
 * In a burst a thread makes some objects and then frees them all, or, with --pass, leaves them to the next thread, unless
 * that has not come to the last ones yet, and frees what the one before it has left.  All threads begin together, when the last of them has been started, so that all of them
 * are alive while the pairs are counted.  Each object's first byte and its eighth are written unless --touch is 0.
 */
#include "workload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { THREADS_MOST = 10000, OBJECTS_MOST = 100000 };

struct burst {
    long objects; /* for who frees them */
    void *object[];
};

struct worker {
    pthread_t thread;
    uint64_t random;
    uint64_t checksum;
    struct worker *neighbour;
    _Atomic(struct burst *) mailbox; /* filled by the thread before this one, emptied by this one */
};

static long threads = 16, pairs = 10000000, objects = 300, smallest = 16, largest = 2000, pass = 0, touch = 1;
static pthread_barrier_t all_there;
static struct worker worker[THREADS_MOST];

static void
make(struct worker *self, struct burst *burst)
{
    burst->objects = objects;
    for (long i = 0; i < objects; i++) {
        size_t size = workload_between(&self->random, (uint64_t)smallest, (uint64_t)largest);
        unsigned char *object = workload_take(size);
        if (touch) {
            object[0] = (unsigned char)i;
            object[sizeof(void *) - 1] = (unsigned char)~i;
        }
        burst->object[i] = object;
    }
}

static void
drop(struct worker *self, struct burst *burst)
{
    for (long i = 0; i < burst->objects; i++) {
        unsigned char *object = burst->object[i];
        if (touch && (object[0] != (unsigned char)i || object[sizeof(void *) - 1] != (unsigned char)~i))
            workload_fail("crowd", "an object has changed");
        free(object);
    }
    self->checksum += (uint64_t)burst->objects;
}

/* False: the neighbour has not come to what it was left before. */
static bool
hand_over(struct worker *to, struct burst *burst)
{
    struct burst *nothing = NULL;
    return atomic_compare_exchange_strong_explicit(&to->mailbox, &nothing, burst, memory_order_release,
                                                   memory_order_relaxed);
}

static struct burst *
new_burst(void)
{
    return workload_take(sizeof(struct burst) + (size_t)objects * sizeof(void *));
}

static void
drop_mail(struct worker *self)
{
    struct burst *burst = atomic_exchange_explicit(&self->mailbox, NULL, memory_order_acquire);
    if (burst != NULL) {
        drop(self, burst);
        free(burst);
    }
}

static void *
work(void *argument)
{
    struct worker *self = argument;
    struct burst *own = new_burst();
    pthread_barrier_wait(&all_there);
    for (long done = 0; done < pairs / threads; done += objects) {
        make(self, own);
        if (pass && hand_over(self->neighbour, own))
            own = new_burst();
        else
            drop(self, own);
        drop_mail(self);
    }
    free(own);
    return NULL;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "threads"},
        {"pairs", &pairs, "objects of all threads together"},
        {"objects", &objects, "objects of a burst"},
        {"smallest", &smallest, "bytes of the smallest object"},
        {"largest", &largest, "bytes of the largest object"},
        {"pass", &pass, "1: the next thread frees them"},
        {"touch", &touch, "0: the objects are not written"},
    };
    workload_parse(argc, argv, "Many threads that make and free objects in bursts.", options, 7);
    workload_require("threads", threads, 1, THREADS_MOST);
    workload_require("objects", objects, 1, OBJECTS_MOST);
    workload_require("smallest", smallest, sizeof(void *), 1l << 30);
    workload_require("largest", largest, smallest, 1l << 30);
    pthread_barrier_init(&all_there, NULL, (unsigned)threads + 1);
    for (long i = 0; i < threads; i++) {
        worker[i].random = workload_scramble((uint64_t)i);
        worker[i].neighbour = &worker[(i + 1) % threads];
        if (pthread_create(&worker[i].thread, NULL, work, &worker[i]) != 0)
            workload_fail("crowd", "cannot start a thread");
    }
    double start = workload_seconds();
    pthread_barrier_wait(&all_there);
    uint64_t checksum = 0;
    for (long i = 0; i < threads; i++)
        pthread_join(worker[i].thread, NULL);
    for (long i = 0; i < threads; i++) {
        drop_mail(&worker[i]);
        checksum += worker[i].checksum;
    }
    workload_report("crowd", checksum, workload_seconds() - start, checksum);
    return 0;
}

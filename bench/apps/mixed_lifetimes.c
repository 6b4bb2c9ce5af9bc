/* SPDX-License-Identifier: MIT */
/*
 * mixed_lifetimes: many short lives, some long ones, all sizes, and objects that wander between threads.
 *
 * In the spirit of mimalloc's mstress: each task of a thread makes mostly objects that it frees soon, keeps some, and
 * now and then swaps one with a shared array, from which any thread may take and free it.  Threads end and start anew
 * each round.  What a task makes depends on its own number only, and what is counted is what was made.
 */
#include "workload.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SHARED_SLOTS = 1000, THREADS_MOST = 256, COOKIE = 0x5bd1e995 };

/* size and cookie stand in the object itself: the thread that frees it checks that it is whole. */
struct object {
    size_t size;
    uint64_t check;
    unsigned char data[];
};

struct keep {
    struct object **object;
    size_t count;
    size_t room;
};

static long threads = 4, rounds = 120, tasks = 300, operations = 400;
static _Atomic(struct object *) shared[SHARED_SLOTS];
static _Atomic uint64_t checksum_total;

static struct object *
make(uint64_t *random)
{
    uint64_t draw = workload_random(random);
    size_t size = draw % 5000 == 0 ? workload_log_size(random, 16, 22)
                  : draw % 50 == 0 ? workload_log_size(random, 10, 15)
                                   : workload_between(random, 0, 240);
    struct object *object = workload_take(sizeof *object + size);
    object->size = size;
    object->check = size ^ COOKIE;
    if (size > 0)
        object->data[size - 1] = 0x7e;
    return object;
}

static void
drop(struct object *object)
{
    if (object == NULL)
        return;
    if (object->check != (object->size ^ COOKIE) || (object->size > 0 && object->data[object->size - 1] != 0x7e))
        workload_fail("mixed_lifetimes", "an object has changed");
    object->check = 0;
    free(object);
}

static void
keep_object(struct keep *keep, struct object *object)
{
    if (keep->count == keep->room) {
        keep->room = keep->room * 2 + 16;
        keep->object = workload_grow(keep->object, keep->room * sizeof(struct object *));
    }
    keep->object[keep->count++] = object;
}

static uint64_t
run_task(uint64_t *random, struct keep *keep)
{
    struct object *brief[16] = {NULL};
    uint64_t sum = 0;
    for (long i = 0; i < operations; i++) {
        struct object *object = make(random), **place = &brief[workload_random(random) % 16];
        uint64_t draw = workload_random(random);
        sum += object->size;
        if (draw % 16 == 0) {
            keep_object(keep, object);
        } else if (draw % 16 == 1) {
            drop(atomic_exchange_explicit(&shared[(draw >> 8) % SHARED_SLOTS], object, memory_order_acq_rel));
        } else {
            drop(*place);
            *place = object;
        }
    }
    for (size_t i = 0; i < 16; i++)
        drop(brief[i]);
    return sum;
}

static void *
live(void *argument)
{
    uint64_t random = workload_scramble((uint64_t)(uintptr_t)argument), sum = 0;
    struct keep keep = {NULL, 0, 0};
    for (long task = 0; task < tasks; task++) {
        sum += run_task(&random, &keep);
        /* A quarter of the long lives ends, the older ones first. */
        for (size_t i = 0; task % 8 == 7 && i < keep.count / 4; i++) {
            drop(keep.object[i]);
            keep.object[i] = keep.object[--keep.count];
        }
    }
    for (size_t i = 0; i < keep.count; i++)
        drop(keep.object[i]);
    free(keep.object);
    checksum_total += sum;
    return NULL;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "threads at once"},
        {"rounds", &rounds, "generations of threads"},
        {"tasks", &tasks, "tasks per thread"},
        {"ops", &operations, "objects made by a task"},
    };
    pthread_t thread[THREADS_MOST];
    workload_parse(argc, argv, "Random sizes, long and short lives, objects passed between threads.", options, 4);
    workload_require("threads", threads, 1, THREADS_MOST);
    double start = workload_seconds();
    for (long round = 0; round < rounds; round++) {
        for (long i = 0; i < threads; i++) {
            if (pthread_create(&thread[i], NULL, live, (void *)(uintptr_t)(round * threads + i)) != 0)
                workload_fail("mixed_lifetimes", "cannot start a thread");
        }
        for (long i = 0; i < threads; i++)
            pthread_join(thread[i], NULL);
        for (size_t i = 0; round % 4 == 3 && i < SHARED_SLOTS; i++)
            drop(atomic_exchange(&shared[i], NULL));
    }
    for (size_t i = 0; i < SHARED_SLOTS; i++)
        drop(atomic_exchange(&shared[i], NULL));
    workload_report("mixed_lifetimes", (uint64_t)(threads * rounds * tasks) * (uint64_t)operations,
                    workload_seconds() - start, checksum_total);
    return 0;
}

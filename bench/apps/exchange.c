/* SPDX-License-Identifier: MIT */
/*
 * exchange: threads that make objects of all sizes up to some KiB, free some of them and leave the others to a neighbour.
 *
 * After Jansson's rpmalloc-benchmark: in each loop a thread makes objects, frees a scattered part of them, and hands the
 * rest over; it frees what others have handed to it meanwhile.  One object in fifty is larger than `--largest`.  The
 * hand-over is one atomic operation for a whole loop's objects, so that the allocator is what is measured.
 */
#include "workload.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS_MOST = 256 };

struct object {
    struct object *next;
    size_t size; /* of the whole object, which ends in the mark */
    unsigned char mark;
};

struct worker {
    pthread_t thread;
    uint64_t random;
    uint64_t checksum;
    struct worker *neighbour;
    _Atomic(struct object *) mailbox; /* pushed by the thread before this one, emptied by this one */
};

static long threads = 4, loops = 100, objects = 300, smallest = 32, largest = 16000;

static struct object *
make(struct worker *self)
{
    size_t size = workload_random(&self->random) % 50 == 0
                      ? workload_between(&self->random, (uint64_t)largest, (uint64_t)largest * 8)
                      : workload_between(&self->random, (uint64_t)smallest, (uint64_t)largest);
    struct object *object = workload_take(size);
    object->size = size;
    object->mark = (unsigned char)size;
    ((unsigned char *)object)[size - 1] = (unsigned char)size;
    return object;
}

static void
drop(struct worker *self, struct object *object)
{
    if (object->mark != (unsigned char)object->size ||
        ((unsigned char *)object)[object->size - 1] != (unsigned char)object->size)
        workload_fail("exchange", "an object has changed");
    self->checksum += workload_scramble(object->size);
    free(object);
}

static void
empty_mailbox(struct worker *self)
{
    struct object *first = atomic_exchange_explicit(&self->mailbox, NULL, memory_order_acquire);
    for (struct object *next; first != NULL; first = next) {
        next = first->next;
        drop(self, first);
    }
}

/* The whole chain at once. */
static void
hand_over(struct worker *to, struct object *first, struct object *last)
{
    last->next = atomic_load_explicit(&to->mailbox, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&to->mailbox, &last->next, first, memory_order_release,
                                                  memory_order_relaxed))
        continue;
}

static void
run_loop(struct worker *self)
{
    struct object *first = NULL, *last = NULL, *held[8] = {NULL};
    for (long i = 0; i < objects; i++) {
        struct object *object = make(self);
        uint64_t draw = workload_random(&self->random);
        if (draw % 2 == 0) {
            object->next = first;
            first = object;
            last = last == NULL ? object : last;
            continue;
        }
        struct object **place = &held[(draw >> 8) % 8];
        if (*place != NULL)
            drop(self, *place);
        *place = object;
    }
    for (size_t i = 0; i < 8; i++) {
        if (held[i] != NULL)
            drop(self, held[i]);
    }
    if (first != NULL)
        hand_over(self->neighbour, first, last);
    empty_mailbox(self);
}

static void *
work(void *argument)
{
    for (long i = 0; i < loops; i++)
        run_loop(argument);
    return NULL;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "threads"},
        {"loops", &loops, "loops of each thread"},
        {"objects", &objects, "objects made in a loop"},
        {"smallest", &smallest, "bytes of the smallest object"},
        {"largest", &largest, "bytes of the largest common object"},
    };
    static struct worker worker[THREADS_MOST];
    uint64_t checksum = 0;
    workload_parse(argc, argv, "Objects of all sizes, half of them freed by a neighbour.", options, 5);
    workload_require("threads", threads, 1, THREADS_MOST);
    workload_require("smallest", smallest, sizeof(struct object) + 1, 1l << 30);
    workload_require("largest", largest, smallest, 1l << 27);
    double start = workload_seconds();
    for (long i = 0; i < threads; i++) {
        worker[i].random = workload_scramble((uint64_t)i);
        worker[i].neighbour = &worker[(i + 1) % threads];
    }
    for (long i = 0; i < threads; i++) {
        if (pthread_create(&worker[i].thread, NULL, work, &worker[i]) != 0)
            workload_fail("exchange", "cannot start a thread");
    }
    for (long i = 0; i < threads; i++)
        pthread_join(worker[i].thread, NULL);
    for (long i = 0; i < threads; i++) {
        empty_mailbox(&worker[i]);
        checksum += worker[i].checksum;
    }
    workload_report("exchange", (uint64_t)(threads * loops) * (uint64_t)objects, workload_seconds() - start, checksum);
    return 0;
}

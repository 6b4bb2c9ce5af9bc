/* SPDX-License-Identifier: MIT */
/*
 * orphans: threads that end and leave everything they made behind, to be freed by another thread long after.
 *
 * After what is published of mleak: does an allocator find its way back to memory whose thread is gone?  Each round starts
 * threads that make a chain of objects and end at once; the chains of a round are freed by the main thread some rounds
 * later.  Live bytes stay the same, so RSS that grows by round is memory that was never found again.
 */
#include "workload.h"

#include <pthread.h>

enum { THREADS_MOST = 64, ROUNDS_MOST = 16 };

struct object {
    struct object *next;
    size_t size;
    unsigned char data[];
};

static long threads = 4, rounds = 400, objects = 800, kept_rounds = 4, every = 20;

static void *
leave(void *argument)
{
    uint64_t random = workload_scramble((uint64_t)(uintptr_t)argument);
    struct object *first = NULL;
    for (long i = 0; i < objects; i++) {
        size_t size = workload_log_size(&random, 4, i % 64 == 0 ? 16 : 9);
        struct object *object = workload_take(sizeof *object + size);
        object->size = size;
        object->data[0] = object->data[size - 1] = (unsigned char)size;
        object->next = first;
        first = object;
    }
    return first;
}

static uint64_t
drop_chain(struct object *first)
{
    uint64_t sum = 0;
    for (struct object *next; first != NULL; first = next) {
        next = first->next;
        if (first->data[first->size - 1] != (unsigned char)first->size)
            workload_fail("orphans", "an object has changed");
        sum += workload_scramble(first->size);
        free(first);
    }
    return sum;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "threads of a round"},
        {"rounds", &rounds, "rounds"},
        {"objects", &objects, "objects that each thread leaves"},
        {"kept", &kept_rounds, "rounds until the objects are freed"},
        {"every", &every, "rounds between two readings of RSS"},
    };
    static struct object *chain[ROUNDS_MOST][THREADS_MOST];
    pthread_t thread[THREADS_MOST];
    uint64_t checksum = 0;
    workload_parse(argc, argv, "Threads end with live objects; others free them later.", options, 5);
    workload_require("threads", threads, 1, THREADS_MOST);
    workload_require("kept", kept_rounds, 1, ROUNDS_MOST);
    workload_require("every", every, 1, 1l << 30);
    double start = workload_seconds();
    for (long round = 0; round < rounds; round++) {
        struct object **mine = chain[round % kept_rounds];
        for (long i = 0; i < threads; i++)
            checksum += drop_chain(mine[i]);
        for (long i = 0; i < threads; i++) {
            if (pthread_create(&thread[i], NULL, leave, (void *)(uintptr_t)(round * threads + i)) != 0)
                workload_fail("orphans", "cannot start a thread");
        }
        for (long i = 0; i < threads; i++) {
            void *left = NULL;
            pthread_join(thread[i], &left);
            mine[i] = left;
        }
        if ((round + 1) % every == 0)
            workload_rss_point("RSS by round", round + 1);
    }
    for (long round = 0; round < kept_rounds; round++) {
        for (long i = 0; i < threads; i++)
            checksum += drop_chain(chain[round][i]);
    }
    workload_report("orphans", (uint64_t)(threads * rounds) * (uint64_t)objects, workload_seconds() - start, checksum);
    return 0;
}

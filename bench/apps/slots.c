/* SPDX-License-Identifier: MIT */
/*
 * slots: an array of slots; a random one is emptied or filled again, with sizes after a power law.
 *
 * After Ignatchenko's alloc-test: each doubling of the size is half as likely as the one before, so that every doubling
 * takes about as many bytes; a slot that holds an object frees it, an empty one gets one.  Objects are written when they
 * are made and read before they are freed, as memory is.  Each thread has slots of its own.
 */
#include "workload.h"

#include <pthread.h>

enum { THREADS_MOST = 256, SMALLEST = 8 };

struct slot {
    unsigned char *object;
    size_t size;
};

struct worker {
    pthread_t thread;
    uint64_t random;
    uint64_t checksum;
    struct slot *slot;
};

static long threads = 1, slots = 100000, operations = 3000000, doublings = 11;

static size_t
draw_size(uint64_t *random)
{
    uint64_t draw = workload_random(random);
    unsigned octave = draw == 0 ? 63 : (unsigned)__builtin_ctzll(draw);
    size_t low = (size_t)SMALLEST << (octave < (unsigned)doublings ? octave : (unsigned)doublings - 1);
    return low + (size_t)(draw >> 32) % low;
}

static void
drop(struct slot *slot)
{
    const unsigned char mark = (unsigned char)slot->size;
    if (slot->object[0] != mark || slot->object[slot->size / 2] != mark || slot->object[slot->size - 1] != mark)
        workload_fail("slots", "an object has changed");
    free(slot->object);
    slot->object = NULL;
}

static void *
work(void *argument)
{
    struct worker *self = argument;
    uint64_t count = (uint64_t)(slots / threads);
    self->slot = calloc(count, sizeof *self->slot);
    if (self->slot == NULL)
        workload_fail("slots", "out of memory");
    for (long i = 0; i < operations / threads; i++) {
        struct slot *slot = &self->slot[workload_random(&self->random) % count];
        if (slot->object != NULL) {
            drop(slot);
            continue;
        }
        slot->size = draw_size(&self->random);
        slot->object = workload_take(slot->size);
        memset(slot->object, (int)(unsigned char)slot->size, slot->size);
        self->checksum += slot->size;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (self->slot[i].object != NULL)
            drop(&self->slot[i]);
    }
    free(self->slot);
    return NULL;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "threads, each with slots of its own"},
        {"slots", &slots, "slots in all; half of them are full"},
        {"ops", &operations, "objects made or freed in all"},
        {"doublings", &doublings, "the largest size is below 8 << this"},
    };
    static struct worker worker[THREADS_MOST];
    uint64_t checksum = 0;
    workload_parse(argc, argv, "Random replacement in an array of slots, sizes after a power law.", options, 4);
    workload_require("threads", threads, 1, THREADS_MOST);
    workload_require("slots", slots, threads, 1l << 30);
    workload_require("doublings", doublings, 1, 28);
    double start = workload_seconds();
    for (long i = 0; i < threads; i++) {
        worker[i].random = workload_scramble((uint64_t)i);
        if (pthread_create(&worker[i].thread, NULL, work, &worker[i]) != 0)
            workload_fail("slots", "cannot start a thread");
    }
    for (long i = 0; i < threads; i++) {
        pthread_join(worker[i].thread, NULL);
        checksum += worker[i].checksum;
    }
    workload_report("slots", (uint64_t)(operations / threads * threads), workload_seconds() - start, checksum);
    return 0;
}

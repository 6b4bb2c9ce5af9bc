/* SPDX-License-Identifier: MIT */
/*
 * alternating: sizes and threads that turn hot and cold in turns, against whatever looks at a program now and then and concludes.
 *
 * For a turn a thread makes and frees batches that no cache has room for, for the next one it works on a few objects at a time; the
 * batches are of another size each time, and every other thread is hot while its neighbours are cold.  A controller whose windows are as
 * long as a turn sees its own step wherever the program has turned.
 *
 * --cold-ms makes a thread sleep for its cold turns instead, so that what it keeps lies idle for as long as a window and is wanted in the next.
 */
#include "workload.h"

#include <pthread.h>

enum { THREADS_MOST = 256, BATCH_MOST = 20000, FEW = 8 };

static long threads = 4, turn_batches = 250, batches = 8000, batch_size = 2000, cold_ms = 0;

struct alternator {
    pthread_t thread;
    long number;
    uint64_t made;
    uint64_t checksum;
    unsigned char *objects[BATCH_MOST];
};

static void
make_and_free(struct alternator *self, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        self->objects[i] = workload_take(size);
        self->objects[i][0] = (unsigned char)i;
    }
    for (long i = 0; i < count; i++) {
        self->checksum += self->objects[i][0];
        free(self->objects[i]);
    }
    self->made += (uint64_t)count;
}

static void *
alternate(void *argument)
{
    struct alternator *self = argument;
    for (long i = 0; i < batches; i++) {
        long turn = i / turn_batches + self->number;
        size_t size = turn % 4 < 2 ? 400 : 3000;
        if (turn % 2 == 0) {
            make_and_free(self, size, batch_size);
        } else if (cold_ms > 0) {
            workload_sleep_ms(cold_ms);
            i += turn_batches - 1; /* a turn begins here: all of it is slept through */
        } else {
            for (long again = 0; again < batch_size / FEW; again++)
                make_and_free(self, size, FEW);
        }
    }
    return NULL;
}

int
main(int argc, char **argv)
{
    static struct alternator alternators[THREADS_MOST];
    const struct workload_option options[] = {
        {"threads", &threads, "threads"},
        {"turn", &turn_batches, "batches of a turn"},
        {"batches", &batches, "batches of each thread"},
        {"batch", &batch_size, "objects in a batch"},
        {"cold-ms", &cold_ms, "milliseconds that a cold turn sleeps instead of working on a few objects; 0: it works"},
    };
    uint64_t checksum = 0, made = 0;
    workload_parse(argc, argv, "Sizes and threads that turn hot and cold.", options, 5);
    workload_require("threads", threads, 1, THREADS_MOST);
    workload_require("turn", turn_batches, 1, 1l << 24);
    workload_require("batch", batch_size, FEW, BATCH_MOST);
    workload_require("cold-ms", cold_ms, 0, 1l << 24);
    double start = workload_seconds();
    for (long i = 0; i < threads; i++) {
        alternators[i].number = i;
        if (pthread_create(&alternators[i].thread, NULL, alternate, &alternators[i]) != 0)
            workload_fail("alternating", "cannot start a thread");
    }
    for (long i = 0; i < threads; i++) {
        pthread_join(alternators[i].thread, NULL);
        checksum += alternators[i].checksum;
        made += alternators[i].made;
    }
    workload_report("alternating", made, workload_seconds() - start, checksum);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * size_sweep: nanoseconds per malloc + free, for every size from 8 B to 64 MiB.
 *
 * Each size is measured in three orders of freeing, with `--live` objects alive (fewer where they would not fit in
 * `--live-mib`):  lifo frees the youngest, fifo the oldest, random any.  Each object's first and last byte are written.
 * Sizes are the powers of two, the three points between each two of them, and one byte more than each power, where size
 * classes change.  One JSON object per line on stdout.
 */
#include "workload.h"

#include <pthread.h>

enum { THREADS_MOST = 256, BETWEEN_CLOCKS = 64 };

enum pattern { LIFO, FIFO, RANDOM, PATTERNS };

static const char *const pattern_name[PATTERNS] = {"lifo", "fifo", "random"};

struct sweeper {
    pthread_t thread;
    size_t size;
    size_t live;
    enum pattern pattern;
    unsigned char **object;
    uint64_t random;
    uint64_t pairs;
    double seconds;
};

static long threads = 1, live_objects = 256, live_mib = 256, point_ms = 10, smallest = 8, largest = 64l << 20;
static pthread_barrier_t ready;

static unsigned char *
make(size_t size)
{
    unsigned char *object = workload_take(size);
    object[0] = 1;
    object[size - 1] = 1;
    return object;
}

/* Frees half of the live set from its top and fills it again: the next malloc gets what the last free gave. */
static void
turn_lifo(struct sweeper *self)
{
    size_t keep = self->live / 2;
    for (size_t i = self->live; i > keep; i--)
        free(self->object[i - 1]);
    for (size_t i = keep; i < self->live; i++)
        self->object[i] = make(self->size);
    self->pairs += self->live - keep;
}

static void
turn_fifo(struct sweeper *self)
{
    for (size_t i = 0; i < self->live; i++) {
        free(self->object[i]);
        self->object[i] = make(self->size);
    }
    self->pairs += self->live;
}

static void
turn_random(struct sweeper *self)
{
    for (size_t i = 0; i < BETWEEN_CLOCKS; i++) {
        size_t slot = (size_t)(workload_random(&self->random) % self->live);
        free(self->object[slot]);
        self->object[slot] = make(self->size);
    }
    self->pairs += BETWEEN_CLOCKS;
}

/* One unmeasured turn first, so that the pages of the live set are there. */
static void *
sweep(void *argument)
{
    static void (*const turn[PATTERNS])(struct sweeper *) = {turn_lifo, turn_fifo, turn_random};
    struct sweeper *self = argument;
    double start, now;
    for (size_t i = 0; i < self->live; i++)
        self->object[i] = make(self->size);
    turn[self->pattern](self);
    self->pairs = 0;
    pthread_barrier_wait(&ready);
    start = now = workload_seconds();
    while (now - start < (double)point_ms * 1e-3) {
        turn[self->pattern](self);
        now = workload_seconds();
    }
    self->seconds = now - start;
    pthread_barrier_wait(&ready);
    for (size_t i = 0; i < self->live; i++)
        free(self->object[i]);
    return NULL;
}

static size_t
live_at(size_t size)
{
    size_t fitting = ((size_t)live_mib << 20) / (size_t)threads / size;
    if (fitting < 1)
        fitting = 1;
    return fitting < (size_t)live_objects ? fitting : (size_t)live_objects;
}

static void
measure(struct sweeper *sweeper, unsigned char **objects, size_t size, enum pattern pattern)
{
    double nanoseconds = 0;
    uint64_t pairs = 0;
    for (long i = 0; i < threads; i++) {
        sweeper[i] = (struct sweeper){.size = size, .live = live_at(size), .pattern = pattern,
                                      .object = objects + i * live_objects, .random = (uint64_t)i + 1};
        if (pthread_create(&sweeper[i].thread, NULL, sweep, &sweeper[i]) != 0)
            workload_fail("size_sweep", "cannot start a thread");
    }
    for (long i = 0; i < threads; i++) {
        pthread_join(sweeper[i].thread, NULL);
        nanoseconds += sweeper[i].seconds * 1e9;
        pairs += sweeper[i].pairs;
    }
    printf("{\"bench\":\"size_sweep\",\"pattern\":\"%s\",\"threads\":%ld,\"live\":%zu,\"size\":%zu,\"pairs\":%llu,"
           "\"ns_per_pair\":%.2f}\n",
           pattern_name[pattern], threads, live_at(size), size, (unsigned long long)pairs, nanoseconds / (double)pairs);
    fflush(stdout);
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "threads that do the same side by side"},
        {"live", &live_objects, "objects alive in each thread"},
        {"live-mib", &live_mib, "MiB alive in all threads, at most"},
        {"ms", &point_ms, "milliseconds per size and pattern"},
        {"smallest", &smallest, "smallest size"},
        {"largest", &largest, "largest size"},
    };
    static struct sweeper sweeper[THREADS_MOST];
    workload_parse(argc, argv, "Nanoseconds per malloc and free for every size, as JSON lines.", options, 6);
    workload_require("threads", threads, 1, THREADS_MOST);
    workload_require("live", live_objects, 1, 1l << 24);
    workload_require("live-mib", live_mib, 1, 1l << 20);
    workload_require("smallest", smallest, 1, 1l << 36);
    unsigned char **objects = calloc((size_t)(threads * live_objects), sizeof *objects);
    if (objects == NULL)
        workload_fail("size_sweep", "out of memory");
    pthread_barrier_init(&ready, NULL, (unsigned)threads);
    for (enum pattern pattern = LIFO; pattern < PATTERNS; pattern++) {
        for (size_t power = 8; power <= (size_t)largest; power *= 2) {
            const size_t sizes[] = {power, power + 1, power + power / 4, power + power / 2, power + power / 4 * 3};
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                if (sizes[i] >= (size_t)smallest && sizes[i] <= (size_t)largest)
                    measure(sweeper, objects, sizes[i], pattern);
            }
        }
    }
    free(objects);
    return 0;
}

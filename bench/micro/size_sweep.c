/* SPDX-License-Identifier: MIT */
/*
 * size_sweep: nanoseconds per allocation and free, for every size from 8 B to 64 MiB, or for 1 to 1M live objects.
 *
 * Each entry point is measured in three orders of freeing, with `--live` objects alive in each thread (fewer where they
 * would not fit in `--live-mib`):  lifo frees the youngest, fifo the oldest, random any.  Sizes are the powers of two
 * and, with `--between 1`, one byte more than each, where size classes change, and the three points up to the next.
 * With `--by-live 1` the size stays at `--smallest` and the live set grows instead.  `--touch` says what is written:
 * 0 the first and the last byte, 1 a byte in each page, 2 everything.  One JSON object per line on stdout.
 */
#include "workload.h"

#include <pthread.h>

enum { THREADS_MOST = 1024, BETWEEN_CLOCKS = 64, PAGE = 4096 };

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

struct call {
    const char *name;
    void *(*take)(size_t size);
};

static long threads = 1, live_objects = 256, live_mib = 256, point_ms = 10, smallest = 8, largest = 64l << 20;
static long between = 1, by_live, touch, only_call, only_pattern;
static const struct call *call;
static pthread_barrier_t ready;

static void *
take_zeroed(size_t size)
{
    return calloc(1, size);
}

static void *
take_line(size_t size)
{
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void *
take_page(size_t size)
{
    void *object = NULL;
    return posix_memalign(&object, PAGE, size) == 0 ? object : NULL;
}

static void *
take_grown(size_t size)
{
    return realloc(malloc(size / 2 + 1), size);
}

static const struct call calls[] = {{"malloc", malloc},
                                    {"calloc", take_zeroed},
                                    {"aligned_alloc 64", take_line},
                                    {"posix_memalign 4096", take_page},
                                    {"malloc half + realloc", take_grown}};

static unsigned char *
make(size_t size)
{
    unsigned char *object = call->take(size);
    if (object == NULL)
        workload_fail("size_sweep", "out of memory");
    if (touch == 2)
        memset(object, 1, size);
    for (size_t at = 0; touch == 1 && at < size; at += PAGE)
        object[at] = 1;
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
live_at(size_t size, size_t wanted)
{
    size_t fitting = ((size_t)live_mib << 20) / (size_t)threads / size;
    if (fitting < 1)
        fitting = 1;
    return fitting < wanted ? fitting : wanted;
}

/* More threads than processors share them: it is the processors' time that a pair costs. */
static double
processors_each(void)
{
    double online = (double)sysconf(_SC_NPROCESSORS_ONLN);
    return (double)threads > online ? online / (double)threads : 1;
}

static void
measure(unsigned char **objects, size_t size, size_t live, enum pattern pattern)
{
    static struct sweeper sweeper[THREADS_MOST];
    double nanoseconds = 0;
    uint64_t pairs = 0;
    for (long i = 0; i < threads; i++) {
        sweeper[i] = (struct sweeper){.size = size,
                                      .live = live,
                                      .pattern = pattern,
                                      .object = objects + i * live_objects,
                                      .random = (uint64_t)i + 1};
        if (pthread_create(&sweeper[i].thread, NULL, sweep, &sweeper[i]) != 0)
            workload_fail("size_sweep", "cannot start a thread");
    }
    for (long i = 0; i < threads; i++) {
        pthread_join(sweeper[i].thread, NULL);
        nanoseconds += sweeper[i].seconds * 1e9;
        pairs += sweeper[i].pairs;
    }
    printf("{\"series\":\"%s %s%s, threads %ld%s\",\"at\":%zu,\"ns\":%.2f,\"live\":%zu,\"pairs\":%llu}\n", call->name,
           pattern_name[pattern],
           touch == 2   ? ", all written"
           : touch == 1 ? ", pages touched"
                        : "",
           threads, by_live ? ", by live objects" : "", by_live ? live : size,
           nanoseconds * processors_each() / (double)pairs, live, (unsigned long long)pairs);
    fflush(stdout);
}

static void
sweep_sizes(unsigned char **objects, enum pattern pattern)
{
    for (size_t power = 8; power <= (size_t)largest; power *= 2) {
        const size_t sizes[] = {power, power + 1, power + power / 4, power + power / 2, power + power / 4 * 3};
        for (size_t i = 0; i < (between ? sizeof sizes / sizeof sizes[0] : 1); i++) {
            if (sizes[i] >= (size_t)smallest && sizes[i] <= (size_t)largest)
                measure(objects, sizes[i], live_at(sizes[i], (size_t)live_objects), pattern);
        }
    }
}

static void
sweep_live(unsigned char **objects, enum pattern pattern)
{
    size_t most = live_at((size_t)smallest, (size_t)live_objects);
    for (size_t live = 1; live <= most; live *= 4)
        measure(objects, (size_t)smallest, live, pattern);
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "threads that do the same side by side"},
        {"live", &live_objects, "objects alive in each thread"},
        {"live-mib", &live_mib, "MiB alive in all threads, at most"},
        {"ms", &point_ms, "milliseconds per point"},
        {"smallest", &smallest, "smallest size"},
        {"largest", &largest, "largest size"},
        {"between", &between, "1: also sizes between the powers of two"},
        {"by-live", &by_live, "1: the live set grows from 1 to --live, the size stays"},
        {"touch", &touch, "what is written: 0 both ends, 1 each page, 2 everything"},
        {"call", &only_call, "1 malloc, 2 calloc, 3 aligned_alloc, 4 posix_memalign, 5 realloc; 0 all"},
        {"pattern", &only_pattern, "1 lifo, 2 fifo, 3 random; 0 all"},
    };
    workload_parse(argc, argv, "Nanoseconds per allocation and free for every size, as JSON lines.", options, 11);
    workload_require("threads", threads, 1, THREADS_MOST);
    workload_require("live", live_objects, 1, 1l << 24);
    workload_require("live-mib", live_mib, 1, 1l << 20);
    workload_require("smallest", smallest, 1, 1l << 36);
    workload_require("call", only_call, 0, sizeof calls / sizeof calls[0]);
    unsigned char **objects = calloc((size_t)(threads * live_objects), sizeof *objects);
    if (objects == NULL)
        workload_fail("size_sweep", "out of memory");
    pthread_barrier_init(&ready, NULL, (unsigned)threads);
    for (long i = 0; i < (long)(sizeof calls / sizeof calls[0]); i++) {
        call = &calls[i];
        for (enum pattern pattern = LIFO; pattern < PATTERNS; pattern++) {
            if ((only_call == 0 || only_call == i + 1) && (only_pattern == 0 || only_pattern == (long)pattern + 1))
                (by_live ? sweep_live : sweep_sizes)(objects, pattern);
        }
    }
    free(objects);
    return 0;
}

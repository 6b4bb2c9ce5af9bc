/* SPDX-License-Identifier: MIT */
/*
 * rounds: threads that each allocate zeroed objects and then free them all, from malloc or from a pool set.
 *
 * A round is `--threads` new threads that begin together, each with `--objects` sizes drawn before, the same in every round
 * and under every allocator.  `--row`: 1 the declared sizes in turn (8 to 1024), 2 any size up to the largest, 3 any multiple of
 * 8, 4 larger than the largest (to 4096).  `--place`: 0 malloc; 1 a pool set whose fixed groups hold everything; 2 one whose
 * fixed groups hold half of it.
 * The program does not link hew: without it in the process (LD_PRELOAD) there are no pools, and malloc is whose it may be.
 * One line of JSON on stdout: microseconds of the first round, and of the median of the others, from the first thread's
 * begin to the last one's end.
 */
#include "hew/pool.h"
#include "workload.h"

#include <pthread.h>

#pragma weak hew_pool_create
#pragma weak hew_pool_calloc
#pragma weak hew_pool_free
#pragma weak hew_pool_destroy

enum { SIZES = 9, THREADS_MOST = 1024, ROUNDS_MOST = 1000 };
enum row { DECLARED = 1, UNALIGNED, ALIGNED, LARGE };
enum place { MALLOC, WITHIN, BEYOND };

static const size_t declared[SIZES] = {8, 16, 32, 64, 128, 256, 512, 768, 1024};
static long threads = 5, objects = 5000, rounds = 11, row = DECLARED, place;
static uint32_t *drawn; /* the sizes: those of a thread follow those of the one before */
static struct hew_pool_set *set;
static pthread_barrier_t together;

struct worker {
    pthread_t thread;
    const uint32_t *sizes;
    void **held;
    double begin, end;
};

static uint32_t
draw(uint64_t *random, long at)
{
    switch (row) {
    case DECLARED:
        return (uint32_t)declared[at % SIZES];
    case UNALIGNED:
        return (uint32_t)workload_between(random, 1, declared[SIZES - 1]);
    case ALIGNED:
        return (uint32_t)workload_between(random, 1, declared[SIZES - 1] / 8) * 8;
    default:
        return (uint32_t)workload_between(random, declared[SIZES - 1] + 1, declared[SIZES - 1] * 4);
    }
}

static void
draw_all(void)
{
    uint64_t random = 1;
    drawn = workload_take((size_t)(threads * objects) * sizeof *drawn);
    for (long i = 0; i < threads * objects; i++)
        drawn[i] = draw(&random, i);
}

/* Half of what is needed, or half as much again: threads keep some free objects for themselves. */
static void
make_set(void)
{
    struct hew_pool_size sizes[SIZES];
    size_t needed[SIZES] = {0};
    for (long i = 0; i < threads * objects; i++) {
        unsigned size = 0;
        while (size < SIZES && declared[size] < drawn[i])
            size++;
        if (size < SIZES)
            needed[size]++;
    }
    for (unsigned i = 0; i < SIZES; i++)
        sizes[i] = (struct hew_pool_size){declared[i], (place == BEYOND ? needed[i] / 2 : needed[i] * 3 / 2) + 1};
    if (hew_pool_create == NULL)
        workload_fail("rounds", "no pools in this process: LD_PRELOAD libhew.so");
    set = hew_pool_create(sizes, SIZES, NULL);
    if (set == NULL)
        workload_fail("rounds", "the pool set cannot be made");
}

static void
use_malloc(struct worker *self)
{
    for (long i = 0; i < objects; i++)
        self->held[i] = calloc(1, self->sizes[i]);
    for (long i = 0; i < objects; i++)
        free(self->held[i]);
}

static void
use_pool(struct worker *self)
{
    for (long i = 0; i < objects; i++)
        self->held[i] = hew_pool_calloc(set, 1, self->sizes[i]);
    for (long i = 0; i < objects; i++)
        hew_pool_free(set, self->held[i]);
}

static void *
work(void *argument)
{
    struct worker *self = argument;
    pthread_barrier_wait(&together);
    self->begin = workload_seconds();
    (place == MALLOC ? use_malloc : use_pool)(self);
    self->end = workload_seconds();
    return NULL;
}

/* Seconds. */
static double
turn(struct worker *worker)
{
    double begin = 0, end = 0;
    for (long i = 0; i < threads; i++) {
        if (pthread_create(&worker[i].thread, NULL, work, &worker[i]) != 0)
            workload_fail("rounds", "cannot start a thread");
    }
    for (long i = 0; i < threads; i++) {
        pthread_join(worker[i].thread, NULL);
        begin = i == 0 || worker[i].begin < begin ? worker[i].begin : begin;
        end = worker[i].end > end ? worker[i].end : end;
    }
    return end - begin;
}

static int
ascending(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "threads"},
        {"objects", &objects, "objects of each thread"},
        {"rounds", &rounds, "rounds, the first of which is told apart"},
        {"row", &row, "1 the declared sizes, 2 random unaligned, 3 random aligned, 4 large"},
        {"place", &place, "0 malloc, 1 a pool set that holds everything, 2 one whose fixed groups hold half"},
    };
    static double seconds[ROUNDS_MOST];
    static struct worker worker[THREADS_MOST];
    workload_parse(argc, argv, "Threads that allocate zeroed objects and free them.", options, 5);
    workload_require("threads", threads, 1, THREADS_MOST);
    workload_require("objects", objects, 1, 10000000);
    workload_require("rounds", rounds, 2, ROUNDS_MOST);
    workload_require("row", row, DECLARED, LARGE);
    workload_require("place", place, MALLOC, BEYOND);
    draw_all();
    void **held = workload_take((size_t)(threads * objects) * sizeof *held);
    memset(held, 0, (size_t)(threads * objects) * sizeof *held);
    for (long i = 0; i < threads; i++)
        worker[i] = (struct worker){.sizes = drawn + i * objects, .held = held + i * objects};
    if (place != MALLOC)
        make_set();
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (long i = 0; i < rounds; i++)
        seconds[i] = turn(worker);
    qsort(seconds + 1, (size_t)(rounds - 1), sizeof seconds[0], ascending);
    printf("{\"first_us\":%.0f,\"us\":%.1f}\n", seconds[0] * 1e6, seconds[1 + (rounds - 1) / 2] * 1e6);
    if (place != MALLOC && hew_pool_destroy(set) != 0)
        workload_fail("rounds", "objects are left");
    free(held);
    free(drawn);
    return 0;
}

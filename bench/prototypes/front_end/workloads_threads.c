/* SPDX-License-Identifier: MIT */
/* workloads_threads: objects that one thread allocates and another frees, and threads that do nothing. */
#include "measure.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

extern size_t measure_base;

enum { BATCH = 100, RING = 64, THREADS_MAX = 256 };

/* ---- pipe: one thread makes batches, the other reads and frees them -------------------------------------------- */

static char *ring[RING][BATCH];
static _Atomic size_t ring_made;
static _Atomic size_t ring_used;
static int pipe_batches;

static void *
pipe_consumer(void *unused)
{
    for (size_t used = 0; used < (size_t)pipe_batches; used++) {
        while (atomic_load_explicit(&ring_made, memory_order_acquire) == used) {
            sched_yield();
        }
        for (int i = 0; i < BATCH; i++) {
            char *object = ring[used % RING][i];
            if (object[0] == 2) {
                abort();
            }
            GIVE(object);
        }
        atomic_store_explicit(&ring_used, used + 1, memory_order_release);
    }
    measure_thread_exit();
    return unused;
}

struct result
workload_pipe(int batches)
{
    struct random random = {11};
    pthread_t consumer;
    pipe_batches = batches;
    measure_base = measure_rss();
    measure_reset_peak();
    pthread_create(&consumer, NULL, pipe_consumer, NULL);
    double begin = measure_wall();
    for (size_t made = 0; made < (size_t)batches; made++) {
        while (made - atomic_load_explicit(&ring_used, memory_order_acquire) == RING) {
            sched_yield();
        }
        for (int i = 0; i < BATCH; i++) {
            ring[made % RING][i] = take(16 + random_below(&random, 497));
        }
        atomic_store_explicit(&ring_made, made + 1, memory_order_release);
    }
    pthread_join(consumer, NULL);
    return (struct result){measure_wall() - begin, (double)batches * BATCH};
}

/* ---- server: replacement as in larson; arrays of objects change hands ------------------------------------------ */

enum { SLOTS = 5000, EXCHANGES = 40, REPLACEMENTS = 25000 };

static _Atomic(char **) server_parked;

static void *
server_thread(void *argument)
{
    char **objects = argument;
    struct random random = {(uintptr_t)argument};
    for (int round = 0; round < EXCHANGES; round++) {
        for (int i = 0; i < REPLACEMENTS; i++) {
            size_t k = random_below(&random, SLOTS);
            if (objects[k] != NULL) {
                GIVE(objects[k]);
            }
            objects[k] = take(10 + random_below(&random, 491));
        }
        objects = atomic_exchange(&server_parked, objects);
    }
    measure_thread_exit();
    return NULL;
}

struct result
workload_server(int threads)
{
    pthread_t ids[THREADS_MAX];
    char **all = measure_array((size_t)(threads + 1) * SLOTS * sizeof *all);
    measure_base = measure_rss();
    measure_reset_peak();
    atomic_store(&server_parked, all + (size_t)threads * SLOTS);
    double begin = measure_wall();
    for (int i = 0; i < threads; i++) {
        pthread_create(&ids[i], NULL, server_thread, all + (size_t)i * SLOTS);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
    }
    double seconds = measure_wall() - begin;
    for (size_t i = 0; i < (size_t)(threads + 1) * SLOTS; i++) {
        if (all[i] != NULL) {
            GIVE(all[i]);
        }
    }
    return (struct result){seconds, (double)threads * EXCHANGES * REPLACEMENTS};
}

/* ---- idle: threads that used 20 classes, freed everything and sleep -------------------------------------------- */

static pthread_barrier_t idle_ready;
static pthread_barrier_t idle_end;

static void *
idle_thread(void *unused)
{
    enum { SIZES = 20, EACH = 50 };
    char *objects[SIZES * EACH];
    for (int i = 0; i < SIZES * EACH; i++) {
        static const uint16_t sizes[SIZES] = {8,   16,  32,  48,  64,  80,  96,  112, 128, 160,
                                              192, 224, 256, 320, 384, 448, 512, 640, 768, 1024};
        objects[i] = take(sizes[i % SIZES]);
    }
    for (int i = 0; i < SIZES * EACH; i++) {
        GIVE(objects[i]);
    }
    pthread_barrier_wait(&idle_ready);
    pthread_barrier_wait(&idle_end);
    measure_thread_exit();
    return unused;
}

/* The peak is the figure: KiB that `threads` idle threads hold, stacks (about 16 KiB each) included. */
struct result
workload_idle(int threads)
{
    pthread_t ids[THREADS_MAX];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    pthread_barrier_init(&idle_ready, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&idle_end, NULL, (unsigned)threads + 1);
    measure_base = measure_rss();
    double begin = measure_wall();
    for (int i = 0; i < threads; i++) {
        pthread_create(&ids[i], &attributes, idle_thread, NULL);
    }
    pthread_barrier_wait(&idle_ready);
    double seconds = measure_wall() - begin;
    measure_reset_peak();
    pthread_barrier_wait(&idle_end);
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
    }
    return (struct result){seconds, threads * 1000.0};
}

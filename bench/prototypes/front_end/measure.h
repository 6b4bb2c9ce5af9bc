/* SPDX-License-Identifier: MIT */
/* measure: clock, resident memory, random numbers and array storage (mmap, never the allocator) of the workloads. */
#ifndef MEASURE_H
#define MEASURE_H

#include <stddef.h>
#include <stdint.h>

#ifdef PLAIN_MALLOC
#include <stdlib.h>
#define TAKE malloc
#define GIVE free
#else
#include "proto.h"
#define TAKE proto_malloc
#define GIVE proto_free
#endif

struct random {
    uint64_t state;
};

static inline uint32_t
random_below(struct random *random, uint32_t bound)
{
    random->state = random->state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((random->state >> 32) * bound >> 32);
}

/* Allocates as a program does: first and last byte written. */
static inline char *
take(size_t size)
{
    char *object = TAKE(size);
    object[0] = 1;
    object[size - 1] = 1;
    return object;
}

/* Seconds: of this process's CPU (one thread: other load does not count) and of the wall (several threads). */
double measure_cpu(void);
double measure_wall(void);
/* KiB; `peak` since the last measure_reset_peak. */
size_t measure_rss(void);
size_t measure_peak(void);
void measure_reset_peak(void);
/* Zeroed, page aligned and already touched. */
void *measure_array(size_t bytes);
/* Ends this thread's use of the allocator under test, where that has to be said. */
void measure_thread_exit(void);

struct result {
    double seconds;
    double operations; /* pairs of malloc and free, or objects */
};

struct result workload_lifo(int runs);
struct result workload_batch(size_t size, const char *order);
struct result workload_replace(size_t live, size_t max, int read_before_free);
struct result workload_tree(int runs);
struct result workload_phases(int runs);
struct result workload_pipe(int runs);
struct result workload_server(int threads);
struct result workload_idle(int runs);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * larson_like: a server whose threads end and hand all their objects to the thread that follows.
 *
 * The idea is Larson and Krishnan's (1998): each thread replaces random objects of an array, then starts a successor,
 * gives it the array and ends.  Objects thus outlive the thread that made them by generations.  Here the work is a
 * count of operations, not a time, so that runs compare by their checksum.
 */
#include "workload.h"

#include <pthread.h>

enum { LINES_MOST = 256 };

struct line {
    uint64_t random;
    uint64_t checksum;
    long generation;
    unsigned char **object;
};

static long threads = 4, objects = 5000, generations = 200, operations = 60000, smallest = 8, largest = 1000;
static pthread_mutex_t lines_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t line_done = PTHREAD_COND_INITIALIZER;
static long lines_done;

static void start_generation(struct line *line);

static void
replace_object(struct line *line)
{
    unsigned char **place = &line->object[workload_random(&line->random) % (uint64_t)objects];
    size_t size = (size_t)workload_between(&line->random, (uint64_t)smallest, (uint64_t)largest);
    line->checksum = workload_mix(line->checksum, **place);
    free(*place);
    *place = workload_take(size);
    **place = (unsigned char)size;
    (*place)[size - 1] = (unsigned char)size;
}

/* One generation: works on the array, then starts its successor and ends while that one runs. */
static void *
live(void *argument)
{
    struct line *line = argument;
    for (long i = 0; i < operations; i++)
        replace_object(line);
    line->generation++;
    if (line->generation == generations) {
        pthread_mutex_lock(&lines_mutex);
        lines_done++;
        pthread_cond_signal(&line_done);
        pthread_mutex_unlock(&lines_mutex);
        return NULL;
    }
    start_generation(line);
    return NULL;
}

static void
start_generation(struct line *line)
{
    pthread_t thread;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &detached, live, line) != 0)
        workload_fail("larson_like", "cannot start a thread");
    pthread_attr_destroy(&detached);
}

static void
start_line(struct line *line, uint64_t seed)
{
    line->random = workload_scramble(seed);
    line->checksum = 0;
    line->generation = 0;
    line->object = workload_take((size_t)objects * sizeof *line->object);
    for (long i = 0; i < objects; i++) {
        line->object[i] = workload_take((size_t)smallest);
        line->object[i][0] = 1;
    }
    start_generation(line);
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "lines of threads side by side"},
        {"objects", &objects, "objects that a line holds"},
        {"generations", &generations, "threads that follow each other in a line"},
        {"ops", &operations, "objects replaced by each thread"},
        {"smallest", &smallest, "bytes of the smallest object"},
        {"largest", &largest, "bytes of the largest object"},
    };
    static struct line line[LINES_MOST];
    workload_parse(argc, argv, "Objects handed from thread to thread as threads end.", options, 6);
    workload_require("threads", threads, 1, LINES_MOST);
    workload_require("objects", objects, 1, 1l << 30);
    workload_require("generations", generations, 1, 1l << 30);
    workload_require("smallest", smallest, 1, 1l << 30);
    workload_require("largest", largest, smallest, 1l << 30);
    double start = workload_seconds();
    uint64_t checksum = 0;
    for (long i = 0; i < threads; i++)
        start_line(&line[i], (uint64_t)i);
    pthread_mutex_lock(&lines_mutex);
    while (lines_done < threads)
        pthread_cond_wait(&line_done, &lines_mutex);
    pthread_mutex_unlock(&lines_mutex);
    for (long i = 0; i < threads; i++) {
        checksum += line[i].checksum;
        for (long k = 0; k < objects; k++)
            free(line[i].object[k]);
        free(line[i].object);
    }
    workload_report("larson_like", (uint64_t)(threads * generations) * (uint64_t)operations, workload_seconds() - start,
                    checksum);
    return 0;
}

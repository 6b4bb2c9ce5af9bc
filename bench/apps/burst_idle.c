/* SPDX-License-Identifier: MIT */
/*
 * burst_idle: a gigabyte of mixed sizes, all of it freed, then nothing: how soon does the process give memory back?
 *
 * The threads stay alive and idle, as those of a server do.  RSS goes to stderr: before the burst (the floor), at the
 * peak, after the frees, then once per `--every` milliseconds while nothing at all happens.
 */
#include "workload.h"

#include <pthread.h>

enum { THREADS_MOST = 256 };

struct chain {
    struct chain *next;
};

struct burster {
    pthread_t thread;
    uint64_t random;
    uint64_t objects;
};

static long threads = 4, mebibytes = 1024, idle_ms = 3000, every_ms = 500;
static pthread_barrier_t full, freed, over;

/* By bytes, about a quarter is small, a twentieth middling and the rest large. */
static size_t
draw_size(uint64_t *random)
{
    uint64_t draw = workload_random(random) % 1000;
    return draw < 980   ? workload_log_size(random, 4, 9)
           : draw < 998 ? workload_log_size(random, 9, 14)
                        : workload_log_size(random, 14, 21);
}

static void *
burst(void *argument)
{
    struct burster *self = argument;
    size_t left = ((size_t)mebibytes << 20) / (size_t)threads;
    struct chain *first = NULL;
    while (left > 0) {
        size_t size = draw_size(&self->random);
        struct chain *link = workload_take(size);
        memset(link, 1, size);
        link->next = first;
        first = link;
        left = size < left ? left - size : 0;
        self->objects++;
    }
    pthread_barrier_wait(&full);
    pthread_barrier_wait(&full);
    for (struct chain *next; first != NULL; first = next) {
        next = first->next;
        free(first);
    }
    pthread_barrier_wait(&freed);
    pthread_barrier_wait(&over);
    return NULL;
}

static void
watch_idle(void)
{
    for (long waited = 0; waited < idle_ms; waited += every_ms) {
        workload_sleep_ms(every_ms);
        workload_rss_point("RSS by milliseconds idle", waited + every_ms);
    }
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"threads", &threads, "threads that allocate; they live on while the process is idle"},
        {"mib", &mebibytes, "size of the burst in MiB"},
        {"idle-ms", &idle_ms, "how long to do nothing, in milliseconds"},
        {"every", &every_ms, "milliseconds between two readings of RSS"},
    };
    static struct burster burster[THREADS_MOST];
    workload_parse(argc, argv, "A burst of allocations, then idleness: RSS over time.", options, 4);
    workload_require("threads", threads, 1, THREADS_MOST);
    workload_require("every", every_ms, 1, 1l << 30);
    unsigned parties = (unsigned)threads + 1;
    pthread_barrier_init(&full, NULL, parties);
    pthread_barrier_init(&freed, NULL, parties);
    pthread_barrier_init(&over, NULL, parties);
    fprintf(stderr, "burst_idle: floor %ld KiB RSS\n", workload_rss_kib());
    double start = workload_seconds();
    uint64_t objects = 0;
    for (long i = 0; i < threads; i++) {
        burster[i].random = workload_scramble((uint64_t)i);
        pthread_create(&burster[i].thread, NULL, burst, &burster[i]);
    }
    pthread_barrier_wait(&full);
    fprintf(stderr, "burst_idle: peak %ld KiB RSS\n", workload_rss_kib());
    pthread_barrier_wait(&full);
    pthread_barrier_wait(&freed);
    double busy = workload_seconds() - start;
    fprintf(stderr, "burst_idle: all freed: %ld KiB RSS\n", workload_rss_kib());
    watch_idle();
    pthread_barrier_wait(&over);
    for (long i = 0; i < threads; i++) {
        pthread_join(burster[i].thread, NULL);
        objects += burster[i].objects;
    }
    workload_report("burst_idle", objects, busy, workload_scramble(objects));
    return 0;
}

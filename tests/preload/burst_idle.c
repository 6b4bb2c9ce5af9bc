/* SPDX-License-Identifier: MIT */
/*
 * burst_idle: after a burst of 1 GB an idle process falls back to its floor, without a call of the allocator.
 *
 * Half of the threads that made the burst end; the others stay alive and idle, with whatever their caches hold.
 * Nothing of the program allocates while it waits: RSS is read by system calls alone.
 *
 * Settings: HEW_IDLE_MS (how long it may take at the most, default 120000), HEW_BURST_MIB (default 1024).
 */
#include "under_test.h"
#include "unit/test.h"

#include <pthread.h>

enum { THREADS = 6, CLOSE_KIB = 20 * 1024 };

struct burster {
    pthread_t thread;
    uint64_t random;
    size_t bytes;
    bool stays;
};

static pthread_barrier_t full, freed, over;

/* By bytes, about a quarter is small, a twentieth middling, the rest up to 2 MiB. */
static size_t
draw_size(uint64_t *random)
{
    uint64_t draw = under_test_random(random);
    unsigned kind = draw % 1000, low = kind < 980 ? 4 : kind < 998 ? 9 : 14, doublings = kind < 998 ? 5 : 7;
    unsigned bit = low + (unsigned)((draw >> 16) % doublings);
    return ((size_t)1 << bit) + (size_t)((draw >> 32) & (((size_t)1 << bit) - 1));
}

static void *
fill(uint64_t *random, size_t bytes)
{
    void **first = NULL;
    while (bytes > 0) {
        size_t size = draw_size(random);
        void **block = malloc(size);
        if (block == NULL)
            abort();
        memset(block, 1, size);
        *block = first;
        first = block;
        bytes = size < bytes ? bytes - size : 0;
    }
    return first;
}

static void
empty(void *blocks)
{
    for (void **block = blocks, **next; block != NULL; block = next) {
        next = *block;
        free(block);
    }
}

static void *
burst(void *argument)
{
    struct burster *self = argument;
    void *blocks = fill(&self->random, self->bytes);
    pthread_barrier_wait(&full);
    pthread_barrier_wait(&full);
    empty(blocks);
    pthread_barrier_wait(&freed);
    if (self->stays)
        pthread_barrier_wait(&over);
    return NULL;
}

static long
wait_for_rss_below(long wanted_kib, long milliseconds)
{
    long rss = under_test_rss_kib();
    for (long waited = 0; waited < milliseconds && rss > wanted_kib; waited += 100) {
        under_test_sleep_ms(100);
        rss = under_test_rss_kib();
    }
    return rss;
}

TEST(an_idle_process_returns_the_memory_of_a_burst_by_itself)
{
    static struct burster burster[THREADS];
    long idle_ms = under_test_setting("HEW_IDLE_MS", 120000), mebibytes = under_test_setting("HEW_BURST_MIB", 1024);
    long floor = under_test_rss_kib();
    pthread_barrier_init(&full, NULL, THREADS + 1);
    pthread_barrier_init(&freed, NULL, THREADS + 1);
    pthread_barrier_init(&over, NULL, THREADS / 2 + 1);
    for (size_t i = 0; i < THREADS; i++) {
        burster[i].random = i;
        burster[i].stays = i % 2 == 0;
        burster[i].bytes = ((size_t)mebibytes << 20) / THREADS;
        CHECK_EQUAL(pthread_create(&burster[i].thread, NULL, burst, &burster[i]), 0);
    }
    pthread_barrier_wait(&full);
    long peak = under_test_rss_kib();
    pthread_barrier_wait(&full);
    pthread_barrier_wait(&freed);
    long after_frees = under_test_rss_kib();
    long idle = wait_for_rss_below(floor + CLOSE_KIB, idle_ms);
    printf("RSS in KiB: floor %ld, peak %ld, after the frees %ld, idle %ld\n", floor, peak, after_frees, idle);
    CHECK(peak >= floor + mebibytes * 1000);
    CHECK(idle <= floor + CLOSE_KIB);
    pthread_barrier_wait(&over);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(burster[i].thread, NULL);
}

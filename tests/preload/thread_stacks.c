/* SPDX-License-Identifier: MIT */
/*
 * thread_stacks: libc frees memory while it holds a lock of its own.
 *
 * When many threads end, glibc gives up stacks that it had kept, under the lock of its stack cache, and frees their thread
 * data there.  An allocator that starts a thread of its own inside such a free waits for that lock for ever.  So: many
 * threads that leave much idle memory, joined at once, three times.
 */
#include "under_test.h"
#include "unit/test.h"

#include <pthread.h>

enum { THREADS = 600, OBJECTS = 500 };

static pthread_barrier_t everybody;

static void *
fill_and_empty(void *argument)
{
    void *objects[OBJECTS];
    uint64_t random = (uintptr_t)argument;
    for (size_t i = 0; i < OBJECTS; i++) {
        size_t size = under_test_random(&random) % 2048 + 1;
        objects[i] = malloc(size);
        memset(objects[i], 1, size);
    }
    for (size_t i = 0; i < OBJECTS; i++)
        free(objects[i]);
    pthread_barrier_wait(&everybody);
    return NULL;
}

TEST(threads_whose_stacks_libc_gives_up_can_be_joined)
{
    static pthread_t threads[THREADS];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    pthread_barrier_init(&everybody, NULL, THREADS);
    for (unsigned round = 0; round < 3; round++) {
        size_t started = 0;
        for (size_t i = 0; i < THREADS; i++)
            started += pthread_create(&threads[i], &attributes, fill_and_empty, (void *)(i + 1)) == 0;
        CHECK_EQUAL(started, THREADS);
        for (size_t i = 0; i < started; i++)
            pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&everybody);
}

/* SPDX-License-Identifier: MIT */
/*
 * stack_cache: a thread's death returns its cache, while glibc frees the thread data of old stacks under its lock on the
 * list of stacks.  An allocator that starts a thread of its own inside that free waits for the lock that it holds.
 */
#include "under_test.h"

#include <pthread.h>

#define OLD_STACKS 6 /* with 8 MiB each more than the 40 MiB that glibc keeps */

static pthread_barrier_t all_there;

/* Each has a stack of its own: none ends before all have begun. */
static void *
meet(void *unused)
{
    pthread_barrier_wait(&all_there);
    return unused;
}

static void *
nothing(void *unused)
{
    return unused;
}

/* Of each large class so little that it all stays in the thread's cache. */
static void *
fill_the_cache(void *unused)
{
    void *objects[32];
    int count = 0;
    for (size_t size = 20000; size < 600000; size = size * 5 / 4) {
        objects[count] = malloc(size);
        memset(objects[count++], 1, size);
    }
    while (count > 0)
        free(objects[--count]);
    return unused;
}

int
main(void)
{
    pthread_t threads[OLD_STACKS];
    pthread_attr_t detached;
    pthread_barrier_init(&all_there, NULL, OLD_STACKS);
    for (int i = 0; i < OLD_STACKS; i++)
        if (pthread_create(&threads[i], NULL, meet, NULL) != 0)
            return 1;
    for (int i = 0; i < OLD_STACKS; i++)
        pthread_join(threads[i], NULL);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&detached, (size_t)16 << 20);
    if (pthread_create(&threads[0], &detached, fill_the_cache, NULL) != 0)
        return 1;
    while (under_test_threads() > 2) /* this one and the allocator's own */
        under_test_sleep_ms(1);
    if (pthread_create(&threads[0], NULL, nothing, NULL) != 0)
        return 1;
    pthread_join(threads[0], NULL);
    puts("no thread waits");
    return 0;
}

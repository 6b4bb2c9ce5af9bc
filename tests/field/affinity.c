/* SPDX-License-Identifier: MIT */
/* affinity: begins on the last CPU alone, so that CPU numbers are beyond how many there are; then may use all, while threads run. */
#include "field.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 4, OBJECTS = 500 };

static cpu_set_t all, last;
static pthread_barrier_t wide;

static void *
work(void *unused)
{
    char *objects[OBJECTS] = {NULL};
    for (int turn = 0; turn < 40; turn++) {
        if (turn == 20) {
            pthread_barrier_wait(&wide);
            sched_setaffinity(0, sizeof all, &all);
        }
        for (int i = 0; i < OBJECTS; i++) {
            free(objects[i]);
            size_t size = (size_t)(i * 37 % 4000 + 1);
            objects[i] = malloc(size);
            memset(objects[i], turn, size);
        }
        sched_yield();
    }
    for (int i = 0; i < OBJECTS; i++) {
        FIELD_EXPECT(objects[i][0] == 39, "an object holds what was written");
        free(objects[i]);
    }
    return unused;
}

int
main(int count, char **words)
{
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) {
        if (count == 1) {
            return FIELD_SKIPPED;
        }
    }
    if (count == 1) {
        int number = CPU_SETSIZE - 1;
        while (!CPU_ISSET(number, &all)) {
            number--;
        }
        CPU_ZERO(&last);
        CPU_SET(number, &last);
        FIELD_EXPECT(sched_setaffinity(0, sizeof last, &last) == 0, "it may be pinned");
        execl("/proc/self/exe", words[0], "pinned", (char *)NULL);
        return 1;
    }
    for (int i = 0; i < CPU_SETSIZE; i++) {
        CPU_SET(i, &all); /* the kernel takes away what is not there */
    }
    pthread_t threads[THREADS];
    pthread_barrier_init(&wide, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}

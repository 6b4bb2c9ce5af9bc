/* SPDX-License-Identifier: MIT */
/* realtime: on one CPU threads of real-time priority share objects with one of the usual priority, which is interrupted at any place,
 * also while it holds a lock of the allocator.  Who waits for it by spinning or yielding never lets it run. */
#include "field.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { URGENT = 2, SLOTS = 64, TURNS = 300, AT_ONCE = 200 };

static _Atomic(char *) slots[SLOTS];
static atomic_bool over;
static atomic_long usual_done;

/* Each takes objects that others have made, so that they meet at the allocator's locks. */
static void
exchange(unsigned *seed)
{
    *seed = *seed * 1103515245 + 12345;
    size_t size = (*seed >> 8) % 30 == 0 ? 100000 : (*seed >> 8) % 2000 + 1;
    char *object = malloc(size);
    object[0] = 1;
    free(atomic_exchange(&slots[(*seed >> 4) % SLOTS], object));
}

static void *
usual(void *unused)
{
    unsigned seed = 7;
    while (!atomic_load(&over)) {
        exchange(&seed);
        atomic_fetch_add(&usual_done, 1);
    }
    return unused;
}

static void *
urgent(void *unused)
{
    unsigned seed = (unsigned)(size_t)unused;
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < AT_ONCE; i++) {
            exchange(&seed);
        }
        usleep(200); /* the other one runs, and is interrupted when this is over */
    }
    return NULL;
}

int
main(void)
{
    cpu_set_t all, one;
    int number = 0;
    sched_getaffinity(0, sizeof all, &all);
    while (!CPU_ISSET(number, &all)) {
        number++;
    }
    CPU_ZERO(&one);
    CPU_SET(number, &one);
    sched_setaffinity(0, sizeof one, &one);
    pthread_t other, threads[URGENT];
    pthread_create(&other, NULL, usual, NULL);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &(struct sched_param){.sched_priority = 10});
    for (size_t i = 0; i < URGENT; i++) {
        if (pthread_create(&threads[i], &attributes, urgent, (void *)(i + 1)) != 0) {
            puts("SKIP: no real-time priority here");
            _exit(FIELD_SKIPPED);
        }
    }
    for (int i = 0; i < URGENT; i++) {
        pthread_join(threads[i], NULL);
    }
    atomic_store(&over, true);
    pthread_join(other, NULL);
    printf("%d operations of urgent threads, %ld of the usual one\n", URGENT * TURNS * AT_ONCE,
           atomic_load(&usual_done));
    return 0;
}

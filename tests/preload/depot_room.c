/* SPDX-License-Identifier: MIT */
/*
 * depot_room: threads whose batches depots come to hold, for as long as it takes until that room was judged; forks meanwhile.
 *
 * How the verdict falls is the machine's.  Every object keeps its contents, and a child begins without its parent's verdicts.
 */
#include "tuning_told.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 2, OBJECTS = 6000, SIZE = 900, WAIT_MS = 120000, STEP_MS = 50 };

static atomic_bool done;
static atomic_uint spoilt;

static void *
batches(void *argument)
{
    static __thread unsigned char *objects[OBJECTS];
    unsigned char mark = (unsigned char)(uintptr_t)argument;
    while (!atomic_load(&done)) {
        for (unsigned i = 0; i < OBJECTS; i++) {
            objects[i] = malloc(SIZE);
            objects[i][0] = objects[i][SIZE - 1] = mark;
        }
        for (unsigned i = 0; i < OBJECTS; i++) {
            atomic_fetch_add(&spoilt, objects[i][0] != mark || objects[i][SIZE - 1] != mark);
            free(objects[i]);
        }
    }
    return NULL;
}

TEST(room_that_depots_have_is_judged_while_threads_work_and_fork)
{
    pthread_t threads[THREADS];
    if (!under_test_strict() || mallctl == NULL) {
        return;
    }
    void *large = malloc((size_t)32 << 20); /* enough for a purger */
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, batches, (void *)(i + 1)), 0);
    }
    /* Not by the clock: a machine with other work may let the purger wait. */
    for (unsigned waited = 0; waited < WAIT_MS && number("stats.tuning.depots_judged") == 0; waited += STEP_MS) {
        usleep(STEP_MS * 1000);
        if (waited % (10 * STEP_MS) == 0) {
            fork_and_allocate();
        }
    }
    CHECK(number("stats.tuning.depots_judged") != 0);
    fork_and_allocate();
    CHECK(number("stats.tuning.depots_undone") <= number("stats.tuning.depots_judged"));
    atomic_store(&done, true);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQUAL(atomic_load(&spoilt), 0);
    free(large);
}

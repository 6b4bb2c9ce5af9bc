/* SPDX-License-Identifier: MIT */
/*
 * self_tuning: threads that turn hot and cold, and forks while trials are in flight.
 *
 * With tuning:on.  Every object keeps its contents, every child ends well and finds nothing tried, and the numbers that mallctl tells
 * agree with each other.
 */
#include "tuning_told.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, OBJECTS = 3000, FORKS = 30, WAIT_MS = 20000 };

static atomic_bool done;
static atomic_uint spoilt;

/* Batches of ever other sizes; a nap of 0 to 60 ms now and then, so that windows are hot and cold in turn. */
static void *
hot_and_cold(void *argument)
{
    static __thread unsigned char *objects[OBJECTS];
    unsigned self = (unsigned)(uintptr_t)argument;
    for (unsigned round = 0; !atomic_load(&done); round++) {
        size_t size = 16 + (round * 37 + self * 101) % 2000;
        for (unsigned i = 0; i < OBJECTS; i++) {
            objects[i] = malloc(size);
            if (objects[i] != NULL) {
                objects[i][0] = objects[i][size - 1] = (unsigned char)(round + self);
            }
        }
        for (unsigned i = 0; i < OBJECTS; i++) {
            unsigned char *object = objects[(i * 7 + round) % OBJECTS];
            bool same = object == NULL || (object[0] == (unsigned char)(round + self) && object[size - 1] == object[0]);
            atomic_fetch_add(&spoilt, !same);
            free(object);
        }
        if (round % 16 == 0) {
            usleep(self * 20000);
        }
    }
    return NULL;
}

TEST(threads_that_turn_hot_and_cold_and_forks_amid_steps_do_no_harm)
{
    pthread_t threads[THREADS];
    if (!under_test_strict() || mallctl == NULL) {
        return;
    }
    free(malloc((size_t)32 << 20)); /* large enough for a purger */
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, hot_and_cold, (void *)(uintptr_t)i), 0);
    }
    for (unsigned i = 0; i < FORKS; i++) {
        usleep(17000);
        fork_and_allocate();
    }
    /* Not by the clock: a machine with other work may let the purger wait. */
    for (unsigned waited = 0; waited < WAIT_MS && number("stats.tuning.windows") < 2; waited += 20) {
        usleep(20000);
    }
    atomic_store(&done, true);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQUAL(atomic_load(&spoilt), 0);
    CHECK(number("stats.tuning.windows") >= 2);
    CHECK(number("stats.tuning.kept") + number("stats.tuning.undone") <= number("stats.tuning.steps"));
    CHECK(number("stats.tuning.room_kept") + number("stats.tuning.room_refused") <= number("stats.tuning.room_trials"));
    CHECK(number("stats.tuning.depots_undone") <= number("stats.tuning.depots_judged"));
    CHECK(number("stats.tuning.room_trials") != 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * self_tuning: threads that turn hot and cold, and forks while trials are in flight.
 *
 * With tuning:on.  Every object keeps its contents, every child ends well and finds nothing tried, and the numbers that mallctl tells
 * agree with each other.
 */
#include "under_test.h"
#include "unit/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, OBJECTS = 3000, FORKS = 30, WAIT_MS = 20000 };

extern int mallctl(const char *name, void *old, size_t *old_length, void *value, size_t value_length)
    __attribute__((weak));

static atomic_bool done;
static atomic_uint spoilt;

static uint64_t
number(const char *name)
{
    uint64_t value = UINT64_MAX;
    size_t length = sizeof value;
    CHECK_EQUAL(mallctl(name, &value, &length, NULL, 0), 0);
    return value;
}

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

static void
fork_and_allocate(void)
{
    pid_t child = fork();
    if (child == 0) {
        uint64_t steps = number("stats.tuning.steps") + number("stats.tuning.room_trials"),
                 decay = number("stats.tuning.dirty_decay_ms");
        for (unsigned i = 0; i < 2000; i++) {
            free(malloc(i + 1));
        }
        _exit(steps == 0 && decay == 10000 && test_failures == 0 ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
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
    CHECK(number("stats.tuning.room_trials") != 0);
}

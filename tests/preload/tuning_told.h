/* SPDX-License-Identifier: MIT */
/* tuning_told: what the library under test tells of its tuning, and what a fork's child does that has none of its parent's. */
#ifndef HEW_TESTS_PRELOAD_TUNING_TOLD_H
#define HEW_TESTS_PRELOAD_TUNING_TOLD_H

#include "under_test.h"
#include "unit/test.h"

#include <sys/wait.h>

extern int mallctl(const char *name, void *old, size_t *old_length, void *value, size_t value_length)
    __attribute__((weak));

static inline uint64_t
number(const char *name)
{
    uint64_t value = UINT64_MAX;
    size_t length = sizeof value;
    CHECK_EQUAL(mallctl(name, &value, &length, NULL, 0), 0);
    return value;
}

/* A child, in which nothing has been tried and the decay time is as set, allocates, and ends well. */
static inline void
fork_and_allocate(void)
{
    pid_t child = fork();
    if (child == 0) {
        uint64_t tried = number("stats.tuning.steps") + number("stats.tuning.room_trials") +
                         number("stats.tuning.depots_judged"),
                 decay = number("stats.tuning.dirty_decay_ms");
        for (unsigned i = 0; i < 2000; i++) {
            free(malloc(i + 1));
        }
        _exit(tried == 0 && decay == 10000 && test_failures == 0 ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif

/* SPDX-License-Identifier: MIT */
/* branches: in a build with --coverage, a process that ends by _exit() or a signal is only heard of if it says what it ran. */
#ifndef HEW_TESTS_FAKES_BRANCHES_H
#define HEW_TESTS_FAKES_BRANCHES_H

#include <signal.h>
#include <stddef.h>

void __gcov_dump(void) __attribute__((weak));

static inline void
branches_tell(void)
{
    if (__gcov_dump != NULL) {
        __gcov_dump();
    }
}

static inline void
branches_tell_of_end(int number)
{
    (void)number;
    branches_tell();
}

/* abort() goes on when the handler returns. */
static inline void
branches_tell_when_aborted(void)
{
    if (__gcov_dump != NULL) {
        signal(SIGABRT, branches_tell_of_end);
    }
}

#endif

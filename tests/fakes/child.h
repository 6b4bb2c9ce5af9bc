/* SPDX-License-Identifier: MIT */
/*
 * child: a part of a test in a process of its own, for what would end or bend the test's own process.
 *
 * Include after test.h.  CHECKs that fail in the child make child_run() return a status that is not 0.
 */
#ifndef HEW_TESTS_FAKES_CHILD_H
#define HEW_TESTS_FAKES_CHILD_H

#include "fakes/branches.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Some limits of the system cannot be tried under a sanitizer, whose own memory takes terabytes of address space. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHILD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHILD_SANITIZED 1
#endif
#endif
#ifndef CHILD_SANITIZED
#define CHILD_SANITIZED 0
#endif

#define CHILD_SKIP_IF_SANITIZED() TEST_SKIP_IF(CHILD_SANITIZED, "a sanitizer takes terabytes of address space")

/* In a forked process of one's own: its end. */
static inline void
child_leave(void)
{
    branches_tell();
    _exit(test_failures != 0);
}

struct child_end {
    int status;       /* as of waitpid: 0 when every CHECK held */
    char error[1024]; /* what it wrote to standard error */
};

static inline void
child_read(int from, struct child_end *end)
{
    size_t length = 0;
    ssize_t got;
    while ((got = read(from, end->error + length, sizeof end->error - 1 - length)) > 0) {
        length += (size_t)got;
    }
    end->error[length] = '\0';
}

static inline struct child_end
child_run(void (*body)(void))
{
    struct child_end end = {.status = -1};
    int ends[2];
    fflush(stdout);
    if (pipe(ends) != 0) {
        return end;
    }
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        int before = test_failures;
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(ends[1], STDERR_FILENO);
        branches_tell_when_aborted();
        body();
        fflush(stdout);
        branches_tell();
        _exit(test_failures != before);
    }
    close(ends[1]);
    child_read(ends[0], &end);
    close(ends[0]);
    if (child < 0 || waitpid(child, &end.status, 0) != child) {
        end.status = -1;
    }
    return end;
}

#endif

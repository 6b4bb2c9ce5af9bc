/* SPDX-License-Identifier: MIT */
/* Unit tests of os/threads: what the kernel tells of threads that were. */
#include "os/threads.h"

#include "test.h"

#include "fakes/child.h"

#include <sys/wait.h>
#include <unistd.h>

static void *
end_at_once(void *unused)
{
    return unused;
}

static void
run_a_thread(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, end_at_once, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

/* In a child: whether it is alone, before and after a thread of its own has run. */
static bool
child_knows(bool before, bool after)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        bool right = hew_threads_never_others() == before;
        if (!after) {
            run_a_thread();
            usleep(1000); /* the kernel may be at its end a little longer than pthread_join() */
        }
        _exit(right && hew_threads_never_others() == after ? 0 : 1);
    }
    return waitpid(child, &status, 0) == child && status == 0;
}

TEST(a_child_is_alone_until_a_thread_has_run)
{
    TEST_SKIP_IF(CHILD_SANITIZED, "a sanitizer has threads of its own");
    run_a_thread(); /* the parent's are not the child's */
    for (unsigned round = 0; round < 20; round++) {
        CHECK(child_knows(true, false));
    }
}

TEST(a_child_that_makes_no_thread_stays_alone)
{
    TEST_SKIP_IF(CHILD_SANITIZED, "a sanitizer has threads of its own");
    CHECK(child_knows(true, true));
}

TEST(a_process_that_had_a_thread_is_not_alone)
{
    run_a_thread();
    CHECK(!hew_threads_never_others());
}

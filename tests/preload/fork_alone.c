/* SPDX-License-Identifier: MIT */
/*
 * fork_alone: a process with one thread shares all of the library's data with its children until one of them allocates.
 * A process that has a second thread does not: its locks are taken and given back around fork().
 */
#include "smaps.h"
#include "stuck.h"
#include "under_test.h"
#include "unit/test.h"

#include <pthread.h>
#include <sys/wait.h>

#define MOST_KIB 8 /* the loader may have written between our variables */

/* KiB of the library's variables that only this process has; 0 when it cannot be told. */
static long
own_variables(void)
{
    long kib = 0;
    char *maps = smaps_read();
    for (char *name = maps; (name = strstr(name, "libhew.so\n")) != NULL; name++) {
        char *field = strstr(name, "\nPrivate_Dirty:"), *next = strstr(name, "\nVmFlags:");
        kib += field == NULL ? 0 : strtol(field + 15, NULL, 10);
        next = next == NULL ? NULL : strchr(next + 1, '\n');
        char *end = next == NULL ? NULL : strchr(next + 1, '\n');
        if (end != NULL && end[-1] == ' ') { /* without a name: the variables that begin as zeros */
            field = strstr(end, "\nPrivate_Dirty:");
            kib += field == NULL ? 0 : strtol(field + 15, NULL, 10);
        }
    }
    return kib;
}

/* What a child has for itself when both sides are back from fork(). */
static long
own_variables_of_child(void)
{
    int ready[2], status = -1;
    char byte = 0;
    CHECK(pipe(ready) == 0);
    pid_t child = fork();
    if (child == 0) {
        bool told = read(ready[0], &byte, 1) == 1;
        long kib = own_variables();
        _exit(!told ? 255 : kib < 254 ? (int)kib : 254);
    }
    CHECK(write(ready[1], &byte, 1) == 1);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) != 255);
    close(ready[0]);
    close(ready[1]);
    return WEXITSTATUS(status);
}

static void *
allocate_once(void *unused)
{
    free(malloc(under_test_opaque(100)));
    return unused;
}

TEST(the_child_of_a_process_with_one_thread_shares_the_librarys_variables)
{
    for (size_t size = 8; size < 40000; size += size / 3 + 8) {
        free(malloc(under_test_opaque(size)));
    }
    long kib = own_variables_of_child();
    printf("%ld KiB are the child's own\n", kib);
    if (under_test_strict()) {
        CHECK(kib <= MOST_KIB);
    }
}

TEST(the_child_of_a_process_with_a_second_thread_allocates)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, allocate_once, NULL) == 0);
    for (unsigned i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(STUCK_SECONDS);
            allocate_once(NULL);
            pid_t grandchild = fork(); /* of a process that is alone again */
            if (grandchild == 0) {
                allocate_once(NULL);
                _exit(0);
            }
            int status = -1;
            _exit(waitpid(grandchild, &status, 0) == grandchild && status == 0 ? 0 : 1);
        }
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK_EQUAL(status, 0);
    }
    CHECK(pthread_join(thread, NULL) == 0);
}

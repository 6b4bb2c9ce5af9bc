/* SPDX-License-Identifier: MIT */
/*
 * before_main: allocation before main begins and after it has ended.
 *
 * In the order in which they run: .preinit_array, constructors by priority; then main; then atexit handlers and
 * destructors.  What an early step allocated, a late one frees.  The end of a process is seen from its parent, through
 * a pipe.  Earlier still: ifunc_resolver.c.
 */
#include "under_test.h"
#include "unit/test.h"

#include <pthread.h>
#include <sys/wait.h>

enum { STEPS = 5 };

static unsigned char *early[STEPS];
static int early_errors, end_pipe = -1;

/* Leaves an object for later and exercises the rest of the interface meanwhile. */
static void
allocate_early(int step)
{
    for (size_t size = 1; size < 400000; size = size * 4 + 3) {
        unsigned char *object = calloc(1, size);
        early_errors += object == NULL || object[0] != 0 || object[size - 1] != 0;
        object = realloc(object, size * 2);
        early_errors += object == NULL || object[size - 1] != 0;
        free(object);
    }
    early[step] = malloc(1000 + (size_t)step);
    memset(early[step], 0x30 + step, 1000 + (size_t)step);
}

static bool
early_object_is_whole(int step)
{
    for (size_t i = 0; early[step] != NULL && i < 1000 + (size_t)step; i++) {
        if (early[step][i] != 0x30 + step)
            return false;
    }
    return early[step] != NULL;
}

static void
run_before_constructors(void)
{
    allocate_early(0);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit_entry)(void) = run_before_constructors;

__attribute__((constructor(101))) static void
construct_first(void)
{
    allocate_early(1);
}

__attribute__((constructor(102))) static void
construct_second(void)
{
    free(early[0]);
    allocate_early(0);
    allocate_early(2);
}

static void *
allocate_in_thread(void *argument)
{
    allocate_early(4);
    return argument;
}

/* A thread started before main, as some libraries do. */
__attribute__((constructor)) static void
construct_last(void)
{
    pthread_t thread;
    allocate_early(3);
    if (pthread_create(&thread, NULL, allocate_in_thread, NULL) == 0)
        pthread_join(thread, NULL);
}

TEST(objects_made_before_main_are_whole_in_main)
{
    CHECK_EQUAL(early_errors, 0);
    for (int step = 0; step < STEPS; step++)
        CHECK(early_object_is_whole(step));
}

/* Says one letter to the parent when all is well at this point of the end; a question mark otherwise. */
static void
report_end(char letter, int step)
{
    if (end_pipe < 0)
        return;
    bool whole = early_object_is_whole(step);
    free(early[step]);
    allocate_early(step);
    if (write(end_pipe, whole && early_object_is_whole(step) && early_errors == 0 ? &letter : "?", 1) != 1)
        _exit(8);
}

static void
run_at_exit(void)
{
    report_end('a', 1);
}

__attribute__((destructor)) static void
destruct(void)
{
    report_end('d', 2);
}

__attribute__((destructor(101))) static void
destruct_last(void)
{
    report_end('e', 3);
}

TEST(atexit_handlers_and_destructors_allocate_and_free)
{
    int ends[2] = {-1, -1}, status = -1;
    char letters[8] = "";
    CHECK_EQUAL(pipe(ends), 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        end_pipe = ends[1];
        atexit(run_at_exit);
        exit(0);
    }
    close(ends[1]);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
    ssize_t length = 0, more;
    while ((more = read(ends[0], letters + length, sizeof letters - 1 - (size_t)length)) > 0)
        length += more;
    CHECK_TEXT(letters, "ade");
    close(ends[0]);
}

TEST(objects_made_before_main_can_be_freed_in_main)
{
    for (int step = 0; step < STEPS; step++) {
        early[step] = realloc(early[step], 5000);
        CHECK(early[step] != NULL && early[step][999] == 0x30 + step);
        free(early[step]);
    }
}

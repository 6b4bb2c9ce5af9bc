/* SPDX-License-Identifier: MIT */
/*
 * A program whose malloc_message allocates and asks mallctl, also for what is wrong in MALLOC_CONF, which the first
 * malloc finds.  The test runs with MALLOC_CONF=no_such_setting:1,narenas:x,confirm_conf:true,pools:64-999999999999.
 */
#include "jemalloc_calls.h"
#include "preload/under_test.h"
#include "stuck.h"
#include "unit/test.h"

#include <signal.h>
#include <sys/wait.h>

static char heard[1 << 15];
static size_t length;
static unsigned lines;

static void
hear(void *opaque, const char *text)
{
    (void)opaque;
    char *copy = malloc(strlen(text) + 1);
    strcpy(copy, text);
    if (length + strlen(copy) < sizeof heard) {
        memcpy(heard + length, copy, strlen(copy));
        length += strlen(copy);
    }
    lines++;
    free(copy);
    if (getenv("HEW_TEST_TELL") != NULL) {
        fputs(text, stdout);
        fflush(stdout);
    }
}

extern void (*malloc_message)(void *opaque, const char *text);
void (*malloc_message)(void *opaque, const char *text) = hear;

/* Before main, and before stdio has allocated anything. */
__attribute__((constructor)) static void
guard(void)
{
    alarm(STUCK_SECONDS);
    free(malloc(1));
}

TEST(warnings_of_the_first_malloc_reach_a_function_that_allocates)
{
    CHECK(strstr(heard, "no_such_setting") != NULL);
    CHECK(strstr(heard, "narenas:x") != NULL);
    CHECK(strstr(heard, "together with those before more than") != NULL);
    CHECK(strstr(heard, "<hew>: reading MALLOC_CONF") != NULL);
    CHECK(strstr(heard, "no_such_setting") < strstr(heard, "narenas:x"));
    CHECK(lines >= 8); /* one call a line */
}

/* With abort_conf the process ends, but not before the function has heard why. */
TEST(a_program_that_ends_by_its_settings_hears_why)
{
    int both[2], status = 0;
    CHECK_EQUAL(pipe(both), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(both[1], STDOUT_FILENO);
        close(both[0]);
        close(both[1]);
        setenv("HEW_TEST_TELL", "1", 1);
        setenv("MALLOC_CONF", "abort_conf:true,no_such_setting:1", 1);
        execl("/proc/self/exe", "message_hook", (char *)NULL);
        _exit(1);
    }
    close(both[1]);
    char said[4096];
    size_t size = 0;
    for (ssize_t count; (count = read(both[0], said + size, sizeof said - 1 - size)) > 0;) {
        size += (size_t)count;
    }
    said[size] = '\0';
    close(both[0]);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strstr(said, "no_such_setting") != NULL);
}

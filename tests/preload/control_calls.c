/* SPDX-License-Identifier: MIT */
/*
 * control_calls: mallctl where a process does not expect an allocator to be at work: as its first call, in a fork's child,
 * at a thread's very end, in many threads that are new.
 */
#include "under_test.h"
#include "unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

int mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length) __attribute__((weak));
int mallctlnametomib(const char *name, size_t *mib, size_t *depth) __attribute__((weak));
int mallctlbymib(const size_t *mib, size_t depth, void *old, size_t *old_length, void *new, size_t new_length)
    __attribute__((weak));

static int
read_value(const char *name, void *value, size_t size)
{
    return mallctl(name, value, &size, NULL, 0);
}

static int first_result = -1;
static unsigned first_arenas;

__attribute__((constructor(101))) static void
ask_before_anything_else(void)
{
    first_result = read_value("arenas.narenas", &first_arenas, sizeof first_arenas);
}

TEST(the_first_call_of_a_process_may_be_mallctl)
{
    CHECK_EQUAL(first_result, 0);
    CHECK(first_arenas > 0);
}

TEST(errno_stays_as_it_was)
{
    uint64_t epoch = 1;
    bool off = false, on = true;
    errno = 77;
    CHECK_EQUAL(mallctl("nothing.of.the.kind", NULL, NULL, NULL, 0), ENOENT);
    CHECK_EQUAL(mallctl("epoch", NULL, NULL, &epoch, sizeof epoch), 0);
    CHECK_EQUAL(mallctl("arena.4096.purge", NULL, NULL, NULL, 0), 0);
    CHECK_EQUAL(mallctl("background_thread", NULL, NULL, &off, 1), 0);
    CHECK_EQUAL(mallctl("background_thread", NULL, NULL, &on, 1), 0);
    CHECK_EQUAL(errno, 77);
}

TEST(the_settings_of_the_environment_can_be_read)
{
    const char *text = "", *expected = getenv("MALLOC_CONF");
    ssize_t decay = 0;
    CHECK_EQUAL(read_value("opt.malloc_conf.env_var", &text, sizeof text), expected == NULL ? ENOENT : 0);
    CHECK(expected == NULL || strcmp(text, expected) == 0);
    CHECK_EQUAL(read_value("opt.dirty_decay_ms", &decay, sizeof decay), 0);
    CHECK_EQUAL(decay, expected == NULL ? 10000 : 1234);
}

TEST(a_forks_child_makes_and_ends_an_arena)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        unsigned arena = 0;
        uint64_t epoch = 1;
        size_t allocated = 0, mib[3], depth = 3;
        bool fine = read_value("arenas.create", &arena, sizeof arena) == 0;
        fine = fine && mallctl("epoch", NULL, NULL, &epoch, sizeof epoch) == 0;
        fine = fine && read_value("stats.allocated", &allocated, sizeof allocated) == 0 && allocated > 0;
        fine = fine && mallctlnametomib("arena.0.destroy", mib, &depth) == 0;
        mib[1] = arena;
        fine = fine && mallctlbymib(mib, depth, NULL, NULL, NULL, 0) == 0;
        _exit(!fine);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQUAL(status, 0);
}

static pthread_key_t last;
static int at_the_end[4];

/* Comes again and again, until after hew has taken the thread's cache back. */
static void
ask_at_the_end(void *round)
{
    static __thread unsigned calls;
    uint64_t bytes = 0;
    unsigned arena = 0;
    at_the_end[calls] = read_value("thread.allocated", &bytes, sizeof bytes);
    read_value("thread.arena", &arena, sizeof arena);
    mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
    mallctl("thread.idle", NULL, NULL, NULL, 0);
    if (++calls < 4) {
        pthread_setspecific(last, round);
    }
}

static void *
live_shortly(void *unused)
{
    free(malloc(100));
    pthread_setspecific(last, &last);
    return unused;
}

TEST(a_thread_may_ask_until_its_very_end)
{
    pthread_t thread;
    CHECK_EQUAL(pthread_key_create(&last, ask_at_the_end), 0);
    CHECK_EQUAL(pthread_create(&thread, NULL, live_shortly, NULL), 0);
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < 4; i++) {
        CHECK(at_the_end[i] == 0 || at_the_end[i] == EAGAIN);
    }
}

static void *
ask_first(void *unused)
{
    uint64_t *allocated = NULL;
    unsigned arena = 0;
    bool fine = read_value("thread.arena", &arena, sizeof arena) == 0;
    fine = fine && read_value("thread.allocatedp", &allocated, sizeof allocated) == 0;
    uint64_t before = fine ? *allocated : 0;
    free(malloc(1));
    return fine && *allocated > before ? NULL : unused;
}

TEST(new_threads_ask_before_they_allocate)
{
    pthread_t threads[16];
    for (unsigned i = 0; i < 16; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, ask_first, &threads), 0);
    }
    for (unsigned i = 0; i < 16; i++) {
        void *failed = &threads;
        pthread_join(threads[i], &failed);
        CHECK(failed == NULL);
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * prof_deadlock: every object of many threads sampled, in the places where others have hung: while libraries come and go,
 * inside the loader with its lock held, in signal handlers, with a lock of the program that is also taken under the
 * loader's, and around fork().
 */
#include "under_test.h"
#include "unit/test.h"

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define ROUNDS 60
#define MEETINGS 1000

static atomic_bool stop;
static atomic_ulong allocations, iterations;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void
allocate_at(unsigned depth, size_t size)
{
    if (depth > 0) {
        allocate_at(depth - 1, size);
        __asm__ volatile("" ::: "memory");
        return;
    }
    char *object = malloc(size);
    object[0] = 1;
    object = realloc(object, size * 2);
    free(object);
    allocations++;
}

static void *
allocate_until_told(void *argument)
{
    uint64_t random = (uintptr_t)argument;
    while (!stop) {
        allocate_at(under_test_random(&random) % 30, under_test_random(&random) % 40000 + 1);
    }
    return NULL;
}

static void *
allocate_under_lock(void *unused)
{
    while (!stop) {
        pthread_mutex_lock(&lock);
        allocate_at(3, 100);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static int
on_object(struct dl_phdr_info *info, size_t size, void *context)
{
    /* The loader's lock is held: a thread that wants it while it holds `lock` waits for ever. */
    pthread_mutex_lock(&lock);
    free(malloc(size));
    pthread_mutex_unlock(&lock);
    return info == context;
}

static void *
iterate_until_told(void *unused)
{
    for (; !stop; iterations++)
        dl_iterate_phdr(on_object, NULL);
    return unused;
}

static void
on_signal(int number)
{
    allocate_at((unsigned)number % 7, 500);
}

TEST(threads_go_on_while_libraries_come_and_go)
{
    pthread_t threads[3];
    for (uintptr_t i = 0; i < 3; i++)
        CHECK_EQUAL(pthread_create(&threads[i], NULL, allocate_until_told, (void *)(i + 1)), 0);
    /* Longer where a busy machine has let no other thread run yet. */
    for (unsigned round = 0; round < ROUNDS || allocations == 0; round++) {
        void *plugin = dlopen(HEW_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
        CHECK(plugin != NULL);
        long (*work)(long) = plugin == NULL ? NULL : (long (*)(long))dlsym(plugin, "plugin_work");
        if (work != NULL)
            work(50);
        if (plugin != NULL)
            dlclose(plugin);
    }
    stop = true;
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK(allocations > 0);
}

TEST(a_lock_that_is_taken_under_the_loaders_does_not_meet_it_the_other_way_round)
{
    pthread_t threads[2];
    stop = false;
    CHECK_EQUAL(pthread_create(&threads[0], NULL, allocate_under_lock, NULL), 0);
    CHECK_EQUAL(pthread_create(&threads[1], NULL, iterate_until_told, NULL), 0);
    unsigned long before = allocations;
    while (allocations < before + MEETINGS || iterations < MEETINGS)
        under_test_sleep_ms(1);
    stop = true;
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

TEST(a_signal_handler_is_sampled_and_its_stack_walked)
{
    signal(SIGUSR1, on_signal);
    unsigned long before = allocations;
    for (unsigned round = 0; round < 1000; round++)
        raise(SIGUSR1);
    CHECK_EQUAL(allocations - before, 1000);
}

TEST(children_of_a_sampled_process_go_on)
{
    pthread_t threads[2];
    stop = false;
    for (uintptr_t i = 0; i < 2; i++)
        CHECK_EQUAL(pthread_create(&threads[i], NULL, allocate_until_told, (void *)(i + 1)), 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        pid_t child = fork();
        if (child == 0) {
            allocate_at(5, 1000);
            _exit(7);
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    stop = true;
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

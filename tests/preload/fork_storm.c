/* SPDX-License-Identifier: MIT */
/*
 * fork_storm: fork while other threads are inside the allocator, and let both sides go on allocating.
 *
 * A child must find every lock free and every object whole; it allocates, starts threads of its own, frees what its
 * parent made, and forks again.  A child that hangs is ended by its alarm and counts as a failure.
 *
 * Settings: HEW_FORKS (forks per test, default 80).
 */
#include "stuck.h"
#include "under_test.h"
#include "unit/test.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>

extern char **environ;

enum { ALLOCATORS = 4, INHERITED = 300 };

static atomic_bool stop;
static unsigned char *inherited[INHERITED];

static void
allocate_for_a_while(uint64_t seed, long operations)
{
    unsigned char *object[64] = {NULL};
    size_t size[64] = {0};
    for (long i = 0; i < operations; i++) {
        uint64_t draw = under_test_random(&seed);
        size_t slot = draw % 64, wanted = (draw >> 8) % (draw % 97 == 0 ? 200000 : 2000) + 1;
        if (object[slot] != NULL && (object[slot][0] != (slot & 0xff) || object[slot][size[slot] - 1] != (slot & 0xff)))
            abort();
        object[slot] = draw % 5 == 0 ? realloc(object[slot], wanted) : (free(object[slot]), malloc(wanted));
        if (object[slot] == NULL)
            abort();
        object[slot][0] = object[slot][wanted - 1] = (unsigned char)slot;
        size[slot] = wanted;
    }
    for (size_t slot = 0; slot < 64; slot++)
        free(object[slot]);
}

static void *
allocate_until_told(void *argument)
{
    for (uint64_t seed = (uintptr_t)argument; !stop; seed += 100)
        allocate_for_a_while(seed, 500);
    return NULL;
}

static void *
allocate_once(void *argument)
{
    allocate_for_a_while((uintptr_t)argument, 2000);
    return NULL;
}

static void
start_allocators(pthread_t *thread)
{
    stop = false;
    for (uintptr_t i = 0; i < ALLOCATORS; i++)
        CHECK(pthread_create(&thread[i], NULL, allocate_until_told, (void *)(i + 1)) == 0);
}

static void
stop_allocators(pthread_t *thread)
{
    stop = true;
    for (size_t i = 0; i < ALLOCATORS; i++)
        pthread_join(thread[i], NULL);
}

/* True when the child came to its end by itself and with status 0. */
static bool
ended_well(pid_t child)
{
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    if (WIFSIGNALED(status))
        printf("child %d ended by signal %d%s\n", (int)child, WTERMSIG(status),
               WTERMSIG(status) == SIGALRM ? " (it hung)" : "");
    else if (WEXITSTATUS(status) != 0)
        printf("child %d ended with status %d\n", (int)child, WEXITSTATUS(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void
fill_inherited(void)
{
    for (size_t i = 0; i < INHERITED; i++) {
        inherited[i] = malloc(10 + i * 37);
        memset(inherited[i], (int)(i & 0xff), 10 + i * 37);
    }
}

/* 0 when all objects are whole; frees them. */
static int
drop_inherited(void)
{
    int wrong = 0;
    for (size_t i = 0; i < INHERITED; i++) {
        for (size_t k = 0; k < 10 + i * 37; k++)
            wrong |= inherited[i][k] != (i & 0xff);
        free(inherited[i]);
    }
    return wrong;
}

static int
live_as_child(int generations)
{
    pthread_t thread[2];
    alarm(STUCK_SECONDS);
    allocate_for_a_while(7, 2000);
    for (uintptr_t i = 0; i < 2; i++) {
        if (pthread_create(&thread[i], NULL, allocate_once, (void *)(i + 50)) != 0)
            return 10;
    }
    if (generations > 0) {
        pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(live_as_child(generations - 1));
        if (!ended_well(grandchild))
            return 11;
    }
    for (size_t i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    allocate_for_a_while(9, 1000);
    return drop_inherited() == 0 ? 0 : 12;
}

TEST(children_and_grandchildren_of_a_busy_parent_allocate_and_free)
{
    pthread_t thread[ALLOCATORS];
    long forks = under_test_setting("HEW_FORKS", 80), failed = 0;
    start_allocators(thread);
    for (long i = 0; i < forks; i++) {
        fill_inherited();
        pid_t child = fork();
        if (child == 0)
            _exit(live_as_child(i % 3 == 0 ? 2 : 0));
        allocate_for_a_while((uint64_t)i, 300);
        failed += !ended_well(child);
        CHECK_EQUAL(drop_inherited(), 0);
    }
    stop_allocators(thread);
    CHECK_EQUAL(failed, 0);
}

TEST(many_children_live_at_once)
{
    enum { AT_ONCE = 12 };
    pthread_t thread[ALLOCATORS];
    pid_t child[AT_ONCE];
    start_allocators(thread);
    for (int round = 0; round < 4; round++) {
        fill_inherited();
        for (size_t i = 0; i < AT_ONCE; i++) {
            child[i] = fork();
            if (child[i] == 0)
                _exit(live_as_child(0));
        }
        for (size_t i = 0; i < AT_ONCE; i++)
            CHECK(ended_well(child[i]));
        CHECK_EQUAL(drop_inherited(), 0);
    }
    stop_allocators(thread);
}

/* exit, not _exit: atexit handlers, stdio and destructors of the child run after a fork as well. */
TEST(a_child_may_leave_through_exit)
{
    pthread_t thread[ALLOCATORS];
    start_allocators(thread);
    for (int i = 0; i < 30; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(STUCK_SECONDS);
            allocate_for_a_while(3, 500);
            exit(0);
        }
        CHECK(ended_well(child));
    }
    stop_allocators(thread);
}

static void *
fork_repeatedly(void *argument)
{
    long failed = 0;
    for (int i = 0; i < 30; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(STUCK_SECONDS);
            allocate_for_a_while((uintptr_t)argument, 1000);
            _exit(0);
        }
        allocate_for_a_while((uintptr_t)argument + 7, 500);
        failed += !ended_well(child);
    }
    return (void *)(intptr_t)failed;
}

TEST(several_threads_may_fork_at_the_same_time)
{
    pthread_t thread[ALLOCATORS];
    void *failed = NULL;
    for (uintptr_t i = 0; i < ALLOCATORS; i++)
        CHECK(pthread_create(&thread[i], NULL, fork_repeatedly, (void *)(i + 1)) == 0);
    for (size_t i = 0; i < ALLOCATORS; i++) {
        pthread_join(thread[i], &failed);
        CHECK_EQUAL((intptr_t)failed, 0);
    }
}

static atomic_long forked_in_handler, failed_in_handler;

static void
fork_in_handler(int number)
{
    int before = errno, status = -1;
    (void)number;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    failed_in_handler += child < 0 || status != 0;
    forked_in_handler++;
    errno = before;
}

/* A signal may come at any moment: under a lock of ours, too.  glibc's own malloc hangs here. */
TEST(a_signal_handler_that_interrupts_malloc_may_fork)
{
    UNDER_TEST_HEW_ALONE();
    pthread_t thread[ALLOCATORS];
    long forks = under_test_setting("HEW_FORKS", 80);
    struct sigaction action = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};
    CHECK_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
    start_allocators(thread);
    for (long i = 0; i < forks; i++) {
        for (size_t t = 0; t < ALLOCATORS; t++)
            CHECK_EQUAL(pthread_kill(thread[t], SIGUSR1), 0);
        while (forked_in_handler < (i + 1) * ALLOCATORS)
            allocate_for_a_while((uint64_t)i, 10);
    }
    stop_allocators(thread);
    CHECK_EQUAL(failed_in_handler, 0);
}

TEST(vfork_and_exec_work_beside_busy_threads)
{
    pthread_t thread[ALLOCATORS];
    start_allocators(thread);
    for (int i = 0; i < 40; i++) {
        pid_t child = vfork();
        if (child == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(9);
        }
        CHECK(ended_well(child));
    }
    stop_allocators(thread);
}

TEST(posix_spawn_works_beside_busy_threads)
{
    char name[] = "true", *arguments[] = {name, NULL};
    pthread_t thread[ALLOCATORS];
    start_allocators(thread);
    for (int i = 0; i < 40; i++) {
        pid_t child = -1;
        CHECK_EQUAL(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ), 0);
        CHECK(ended_well(child));
    }
    stop_allocators(thread);
}

TEST(popen_and_system_work_beside_busy_threads)
{
    char line[64];
    pthread_t thread[ALLOCATORS];
    start_allocators(thread);
    for (int i = 0; i < 20; i++) {
        FILE *pipe = popen("echo from the shell", "r");
        CHECK(pipe != NULL && fgets(line, sizeof line, pipe) != NULL);
        CHECK_TEXT(line, "from the shell\n");
        CHECK_EQUAL(pclose(pipe), 0);
        CHECK_EQUAL(system("exit 0"), 0);
    }
    stop_allocators(thread);
}

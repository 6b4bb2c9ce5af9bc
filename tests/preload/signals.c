/* SPDX-License-Identifier: MIT */
/*
 * signals: signals that interrupt a thread inside the allocator, as often as the kernel will send them.
 *
 * The handlers do only what is async-signal-safe, as under glibc; a handler leaves by siglongjmp only when the code it
 * interrupted is not malloc.  They are installed without SA_RESTART, so that a system call inside the allocator that
 * does not expect EINTR shows.
 *
 * Settings: HEW_SIGNALS (signals per test, default 3000).
 */
#include "under_test.h"
#include "unit/test.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { SLOTS = 256, THREADS = 4 };

struct workshop {
    unsigned char *object[SLOTS];
    size_t size[SLOTS];
    uint64_t random;
    long wrong;
};

static volatile sig_atomic_t ticks, may_jump;
static atomic_long kill_ticks;
static sigjmp_buf jump_target;
static int pipe_ends[2];

static void
install(int signal_number, void (*handler)(int), int flags)
{
    struct sigaction action = {0};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    CHECK_EQUAL(sigaction(signal_number, &action, NULL), 0);
}

static void
start_timer(long microseconds)
{
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    CHECK_EQUAL(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* Large sizes and trims now and then, so that signals also arrive inside system calls. */
static void
work_once(struct workshop *shop)
{
    uint64_t draw = under_test_random(&shop->random);
    size_t slot = draw % SLOTS, size = (draw >> 8) % (draw % 61 == 0 ? 600000 : 3000) + 1, old = shop->size[slot];
    unsigned char *object = shop->object[slot];
    if (object != NULL && (object[0] != (slot & 0xff) || object[old - 1] != (slot & 0xff)))
        shop->wrong++;
    if (draw % 7 == 0) {
        object = realloc(object, size);
    } else {
        free(object);
        object = draw % 5 == 0 ? calloc(1, size) : malloc(size);
    }
    if (object == NULL) {
        shop->wrong++;
    } else {
        memset(object, (int)(slot & 0xff), size);
    }
    shop->object[slot] = object;
    shop->size[slot] = object != NULL ? size : 0;
}

static void
close_shop(struct workshop *shop)
{
    for (size_t i = 0; i < SLOTS; i++) {
        free(shop->object[i]);
        shop->object[i] = NULL;
    }
    CHECK_EQUAL(shop->wrong, 0);
}

static void
tick(int number)
{
    struct timespec now;
    char byte = (char)number;
    int kept = errno;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (write(pipe_ends[1], &byte, 1) == 1 && read(pipe_ends[0], &byte, 1) != 1)
        _exit(7);
    ticks++;
    errno = kept;
}

TEST(a_storm_of_timer_signals_does_not_disturb_the_allocator)
{
    static struct workshop shop = {.random = 1};
    CHECK_EQUAL(pipe(pipe_ends), 0);
    install(SIGALRM, tick, 0);
    ticks = 0;
    start_timer(50);
    while (ticks < under_test_setting("HEW_SIGNALS", 3000))
        work_once(&shop);
    start_timer(0);
    close_shop(&shop);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

static void
jump(int number)
{
    ticks++;
    if (may_jump) {
        may_jump = 0;
        siglongjmp(jump_target, number);
    }
}

/* The program computes with may_jump set and allocates without: the jump never leaves malloc half done. */
TEST(a_handler_may_jump_out_of_the_programs_own_code)
{
    static struct workshop shop = {.random = 2};
    static volatile long jumps;
    volatile uint64_t sum = 0;
    install(SIGALRM, jump, 0);
    ticks = 0;
    start_timer(100);
    while (jumps < under_test_setting("HEW_SIGNALS", 3000) / 4) {
        for (int i = 0; i < 20; i++)
            work_once(&shop);
        if (sigsetjmp(jump_target, 1) != 0) {
            jumps++;
            continue;
        }
        may_jump = 1;
        for (uint64_t i = 0; i < 20000; i++)
            sum += i;
        may_jump = 0;
    }
    CHECK(sum > 0);
    start_timer(0);
    close_shop(&shop);
}

static void
count_kill(int number)
{
    kill_ticks += number == SIGUSR1;
}

struct target {
    pthread_t thread;
    atomic_bool stop;
    struct workshop shop;
};

/* The handler runs on a stack that came from the allocator. */
static void *
work_until_told(void *argument)
{
    struct target *self = argument;
    stack_t own = {.ss_sp = malloc(65536), .ss_size = 65536}, none = {.ss_flags = SS_DISABLE};
    sigaltstack(&own, NULL);
    while (!self->stop)
        work_once(&self->shop);
    sigaltstack(&none, NULL);
    free(own.ss_sp);
    return NULL;
}

TEST(signals_sent_to_many_allocating_threads_do_not_disturb_them)
{
    static struct target target[THREADS];
    long wanted = under_test_setting("HEW_SIGNALS", 3000) * 4;
    install(SIGUSR1, count_kill, SA_ONSTACK);
    for (size_t i = 0; i < THREADS; i++) {
        target[i].shop.random = i + 10;
        CHECK_EQUAL(pthread_create(&target[i].thread, NULL, work_until_told, &target[i]), 0);
    }
    for (size_t i = 0; kill_ticks < wanted; i++) {
        CHECK_EQUAL(pthread_kill(target[i % THREADS].thread, SIGUSR1), 0);
        free(malloc(i % 100000));
        if (i % THREADS == 0 && kill_ticks < (long)i / 2)
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL); /* who has no processor takes no second signal */
    }
    for (size_t i = 0; i < THREADS; i++)
        target[i].stop = true;
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(target[i].thread, NULL);
        close_shop(&target[i].shop);
    }
}

TEST(a_signal_may_end_the_process_at_any_point)
{
    signal(SIGALRM, SIG_DFL);
    for (int i = 0; i < 40; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            static struct workshop shop = {.random = 3};
            struct itimerval once = {{0, 0}, {0, 500 + i * 150}};
            setitimer(ITIMER_REAL, &once, NULL);
            for (;;)
                work_once(&shop);
        }
        int status = 0;
        CHECK_EQUAL(waitpid(child, &status, 0), child);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
    }
}

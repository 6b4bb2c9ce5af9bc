/* SPDX-License-Identifier: MIT */
/*
 * Everything at once: threads that end while statistics are printed and profiles written, forks, signals in the middle of
 * malloc, libraries that come and go.  Nothing may hang, and each child must be able to do the same.
 */
#include "jemalloc_calls.h"
#include "preload/under_test.h"
#include "stuck.h"
#include "unit/test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static _Atomic bool stop;
static _Atomic unsigned long printed, interrupted;

static void
count(void *opaque, const char *text)
{
    (void)opaque;
    printed += strlen(text);
}

static void *
short_life(void *seed)
{
    uint64_t random = (uintptr_t)seed;
    void *objects[64];
    for (int i = 0; i < 64; i++) {
        objects[i] = malloc(1 + under_test_random(&random) % 5000);
    }
    unsigned cache = ctl_unsigned("tcache.create");
    for (int i = 0; i < 64; i++) {
        dallocx(objects[i], i % 2 == 0 ? MALLOCX_TCACHE(cache) : 0);
    }
    CHECK_EQUAL(ctl_write("tcache.destroy", &cache, sizeof cache), 0);
    return NULL;
}

static void *
make_threads(void *seed)
{
    for (uintptr_t i = 0; !stop; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, short_life, (void *)((uintptr_t)seed + i)) == 0) {
            pthread_join(thread, NULL);
        }
    }
    return NULL;
}

static void *
print(void *unused)
{
    while (!stop) {
        malloc_stats_print(count, NULL, "J");
        malloc_stats_print(count, NULL, "");
    }
    return unused;
}

static void *
dump(void *unused)
{
    const char *file = "/dev/null";
    bool active = true;
    while (!stop) {
        int status = ctl_write("prof.dump", &file, sizeof file);
        CHECK(status == 0 || status == ENOENT || status == EAGAIN);
        active = !active;
        status = ctl_write("prof.active", &active, sizeof active);
        CHECK(status == 0 || status == ENOENT);
        (void)ctl_do("prof.reset");
    }
    active = true;
    ctl_write("prof.active", &active, sizeof active);
    return unused;
}

static void *
load_libraries(void *unused)
{
    static const char *const names[] = {"libm.so.6", "libresolv.so.2", "libutil.so.1", "libanl.so.1"};
    for (unsigned i = 0; !stop; i++) {
        void *library = dlopen(names[i % 4], RTLD_NOW | RTLD_LOCAL);
        if (library != NULL) {
            dlclose(library);
        }
    }
    return unused;
}

/* Not allowed to allocate, and does not; the profiler may be unwinding under it. */
static void
handler(int signal)
{
    (void)signal;
    interrupted++;
}

static void *
interrupt(void *main_thread)
{
    while (!stop) {
        pthread_kill(*(pthread_t *)main_thread, SIGUSR1);
        under_test_sleep_ms(1);
    }
    return NULL;
}

static int
child_works(void)
{
    const char *file = "/dev/null";
    pthread_t thread;
    alarm(STUCK_SECONDS);
    free(malloc(100000));
    ctl_refresh();
    malloc_stats_print(count, NULL, "J");
    ctl_write("prof.dump", &file, sizeof file);
    if (pthread_create(&thread, NULL, short_life, NULL) != 0) {
        return 1;
    }
    pthread_join(thread, NULL);
    unsigned arena = ctl_new_arena();
    dallocx(mallocx(5000, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE), MALLOCX_TCACHE_NONE);
    return ctl_do(ctl_name("arena.%zu.destroy", arena));
}

static void
fill_and_free(void)
{
    void *objects[300];
    for (size_t i = 0; i < 300; i++) {
        size_t size = i * 37 % 3000 + 1;
        objects[i] = malloc(size);
        memset(objects[i], (int)i, size);
    }
    for (size_t i = 0; i < 300; i++) {
        free(objects[i]);
    }
}

static void *
bind_and_end(void *arena)
{
    CHECK_EQUAL(ctl_write("thread.arena", arena, sizeof(unsigned)), 0);
    fill_and_free();
    return NULL;
}

static void *
destroy(void *arena)
{
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", *(unsigned *)arena)), 0);
    return NULL;
}

static void
in_a_thread(void *(*work)(void *), void *argument)
{
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, work, argument), 0);
    pthread_join(thread, NULL);
}

/* jemalloc leaves what a thread has cached to the program, and ends here. */
TEST(a_thread_keeps_nothing_of_an_arena_that_it_has_left)
{
    for (int round = 0; under_test_strict() && round < 50; round++) {
        unsigned arena = ctl_new_arena(), before = 0;
        size_t length = sizeof before;
        CHECK_EQUAL(mallctl("thread.arena", &before, &length, &arena, sizeof arena), 0);
        fill_and_free();
        CHECK_EQUAL(ctl_write("thread.arena", &before, sizeof before), 0);
        in_a_thread(bind_and_end, &arena);
        in_a_thread(destroy, &arena);
        fill_and_free();
    }
}

TEST(a_thread_may_empty_the_arena_that_it_works_in)
{
    unsigned arena = ctl_new_arena(), before = 0;
    size_t length = sizeof before;
    CHECK_EQUAL(mallctl("thread.arena", &before, &length, &arena, sizeof arena), 0);
    for (int round = 0; under_test_strict() && round < 50; round++) {
        fill_and_free();
        CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.reset", arena)), 0);
        fill_and_free();
    }
    CHECK_EQUAL(ctl_write("thread.arena", &before, sizeof before), 0);
    in_a_thread(destroy, &arena);
}

TEST(all_at_once_is_survived_and_so_are_forks)
{
    pthread_t threads[7], self = pthread_self();
    signal(SIGUSR1, handler);
    pthread_create(&threads[0], NULL, make_threads, (void *)1);
    pthread_create(&threads[1], NULL, make_threads, (void *)100000);
    pthread_create(&threads[2], NULL, print, NULL);
    pthread_create(&threads[3], NULL, dump, NULL);
    pthread_create(&threads[4], NULL, load_libraries, NULL);
    pthread_create(&threads[5], NULL, interrupt, &self);
    long forks = under_test_setting("HEW_FORKS", 60);
    for (long i = 0; i < forks || printed <= 10000 || interrupted == 0; i++) {
        void *before = malloc(300);
        pid_t child = fork();
        if (child == 0) {
            _exit(child_works());
        }
        int status = 0;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        free(before);
    }
    stop = true;
    for (int i = 0; i < 6; i++) {
        pthread_join(threads[i], NULL);
    }
}

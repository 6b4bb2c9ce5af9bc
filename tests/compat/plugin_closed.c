/* SPDX-License-Identifier: MIT */
/*
 * plugin_closed FILE MIB threads|main|fork: a plugin with hew inside is used and closed; then threads that used it end, its purger
 * works, and the process forks.  An allocator that has served memory stays loaded.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 60

static pthread_barrier_t barrier;
static void (*work)(size_t mebibytes);
static size_t mebibytes;

static void
fail(const char *what)
{
    printf("FAIL %s\n", what);
    exit(1);
}

static void *
user(void *unused)
{
    pthread_barrier_wait(&barrier); /* the plugin is there */
    work(mebibytes);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* it has been closed */
    return unused;
}

static double
now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* The purger's thread looks once more.  With a few kilobytes there is nothing to do for it. */
static void
await_round(uint64_t (*rounds)(void))
{
    uint64_t before = rounds();
    double end = now() + PATIENCE_S;
    work(mebibytes);
    while (rounds() == before) {
        if (now() > end) {
            fail("the purger did not look");
        }
        usleep(10000);
    }
}

int
main(int count, char **arguments)
{
    if (count != 4) {
        return 2;
    }
    const char *path = arguments[1], *way = arguments[3];
    mebibytes = strtoul(arguments[2], NULL, 10);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t thread;
    int threads = strcmp(way, "threads") == 0;
    if (threads) { /* older than the plugin */
        pthread_create(&thread, NULL, user, NULL);
    }
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
        fail(dlerror());
    }
    *(void **)&work = dlsym(plugin, "plugin_work");
    uint64_t (*rounds)(void);
    *(void **)&rounds = dlsym(plugin, "plugin_rounds");
    if (threads) {
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    } else {
        work(mebibytes);
    }
    dlclose(plugin);
    Dl_info there;
    if (dladdr(*(void **)&work, &there) == 0) {
        fail("the plugin is gone, with an allocator that has served memory");
    }
    if (threads) {
        pthread_barrier_wait(&barrier);
        pthread_join(thread, NULL);
    }
    if (mebibytes > 1) {
        await_round(rounds);
    }
    if (strcmp(way, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            work(mebibytes);
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        if (status != 0) {
            fail("the child has crashed");
        }
    }
    printf("PASS\n");
    return 0;
}

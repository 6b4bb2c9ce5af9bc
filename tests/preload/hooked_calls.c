/* SPDX-License-Identifier: MIT */
/*
 * hooked_calls: what makes the library call libc: boot, large and small requests, threads and their ends, the purger, a child, reports,
 * profiles, memory from the program's break.  Run by hooked_calls.py.
 */
#include "under_test.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>

#define OBJECTS 400
#define ROUNDS 1 /* which calls are made, not how many, is what a hook can disturb */
#define PATIENCE_S 60

static int (*mallctl)(const char *name, void *old, size_t *old_size, void *new, size_t new_size);

static double
now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *
work(void *unused)
{
    char *objects[OBJECTS];
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < OBJECTS; i++) {
            size_t size = 100 + i * 370;
            objects[i] = i % 3 == 0   ? calloc(1, size)
                         : i % 3 == 1 ? malloc(size)
                                      : aligned_alloc(256, size / 256 * 256);
            if (objects[i] == NULL || (i % 3 == 0 && objects[i][size - 1] != 0)) {
                printf("FAIL an object of %zu bytes\n", size);
                exit(1);
            }
            memset(objects[i], (int)i, 64);
        }
        for (size_t i = 0; i < OBJECTS; i += 2) {
            objects[i] = realloc(objects[i], 64 + i * 900);
            if (objects[i] == NULL || objects[i][63] != (char)i) {
                printf("FAIL what an object held\n");
                exit(1);
            }
        }
        for (size_t i = 0; i < OBJECTS; i++) {
            free(objects[i]);
        }
    }
    return unused;
}

static uint64_t
rounds(void)
{
    uint64_t epoch = 1, number = 0;
    size_t size = sizeof number;
    mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
    mallctl("stats.background_thread.num_runs", &number, &size, NULL, 0);
    return number;
}

static void
work_in_threads(void)
{
    pthread_t threads[4];
    for (unsigned i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void
await_purger(void)
{
    double end = now() + PATIENCE_S;
    uint64_t before = rounds();
    work(NULL);
    while (rounds() == before && now() < end) {
        usleep(2000);
    }
}

int
main(void)
{
    *(void **)&mallctl = dlsym(RTLD_DEFAULT, "mallctl");
    void (*report)(void (*)(void *, const char *), void *, const char *);
    *(void **)&report = dlsym(RTLD_DEFAULT, "malloc_stats_print");
    if (mallctl == NULL || report == NULL) {
        printf("FAIL hew is not here\n");
        return 1;
    }
    work(NULL);
    work_in_threads();
    await_purger();
    errno = 0;
    volatile size_t many = SIZE_MAX / 2;
    if (calloc(many, 4) != NULL || errno != ENOMEM) {
        printf("FAIL no ENOMEM\n");
        return 1;
    }
    malloc_trim(0);
    FILE *nowhere = fopen("/dev/null", "w");
    malloc_info(0, nowhere);
    fclose(nowhere);
    mallctl("prof.dump", NULL, NULL, NULL, 0); /* an error where there are no profiles */
    pid_t child = fork();
    if (child == 0) {
        work(NULL);
        work_in_threads();
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (status != 0) {
        printf("FAIL the child, status %x\n", (unsigned)status);
        return 1;
    }
    _Atomic unsigned *hooked = dlsym(RTLD_DEFAULT, "hooked_calls");
    printf("PASS, %u hooked calls\n", hooked == NULL ? 0 : *hooked);
    return 0;
}

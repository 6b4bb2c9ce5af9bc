/* SPDX-License-Identifier: MIT */
/*
 * prof_program: what the heap profiler is to find; prof_files.py runs it and reads the files.
 *
 *     prof_program leak            known objects from known functions and threads, a third of them freed
 *     prof_program dump PATH       the same, and a profile asked for by mallctl, into a file that is there already
 *     prof_program churn MIB       so many MiB allocated and freed in pieces
 *     prof_program grow MIB        so many MiB allocated and kept
 *     prof_program fork            a child that allocates, too
 *     prof_program clean           everything freed
 */
#include "under_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>

typedef int (*mallctl_function)(const char *name, void *old, size_t *old_length, void *new, size_t new_length);

static void *kept[100000];
static size_t kept_count;

static __attribute__((noinline)) void *
keep(void *object)
{
    kept[__atomic_fetch_add(&kept_count, 1, __ATOMIC_RELAXED)] = object;
    return object;
}

__attribute__((noinline)) void
allocate_small(size_t count)
{
    for (size_t i = 0; i < count; i++)
        memset(keep(malloc(100)), 1, 100);
}

__attribute__((noinline)) void
allocate_large(size_t count)
{
    for (size_t i = 0; i < count; i++)
        memset(keep(malloc(100 << 10)), 1, 1000);
}

static void *
work(void *count)
{
    allocate_small((size_t)count);
    return NULL;
}

static void
name_thread(const char *name)
{
    mallctl_function mallctl = (mallctl_function)dlsym(RTLD_DEFAULT, "mallctl");
    if (mallctl != NULL)
        mallctl("thread.prof.name", NULL, NULL, &name, sizeof name);
}

static void
leak(void)
{
    pthread_t thread;
    name_thread("the main one");
    allocate_small(1000);
    allocate_large(50);
    pthread_create(&thread, NULL, work, (void *)500);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < 300; i++) {
        free(kept[i]);
        kept[i] = NULL;
    }
}

static void
release(void)
{
    for (size_t i = 0; i < kept_count; i++)
        free(kept[i]);
}

static int
dump(const char *path)
{
    mallctl_function mallctl = (mallctl_function)dlsym(RTLD_DEFAULT, "mallctl");
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    char head[8] = "";
    leak();
    if (mallctl == NULL || file < 0 || mallctl("prof.dump", NULL, NULL, &path, sizeof path) != 0)
        return 2;
    /* The test that made the file reads it through its own descriptor. */
    return read(file, head, sizeof head - 1) > 0 ? 0 : 4;
}

static void
churn(size_t mebibytes)
{
    for (size_t i = 0; i < mebibytes * 16; i++) {
        volatile char *object = malloc(64 << 10);
        object[0] = 1;
        free((void *)object);
    }
}

static void
grow(size_t mebibytes)
{
    for (size_t i = 0; i < mebibytes; i++)
        memset(keep(malloc(1 << 20)), 1, 4096);
}

int
main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    size_t number = argc > 2 ? (size_t)atol(argv[2]) : 0;
    if (strcmp(mode, "leak") == 0)
        leak();
    else if (strcmp(mode, "dump") == 0)
        return dump(argv[2]);
    else if (strcmp(mode, "churn") == 0)
        churn(number);
    else if (strcmp(mode, "grow") == 0)
        grow(number);
    else if (strcmp(mode, "fork") == 0) {
        leak();
        if (fork() == 0) {
            allocate_large(7);
            exit(0);
        }
        wait(NULL);
    } else if (strcmp(mode, "clean") == 0) {
        leak();
        release();
    }
    return 0;
}

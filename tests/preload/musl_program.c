/* SPDX-License-Identifier: MIT */
/*
 * musl_program: a program of another libc, compiled by musl-gcc, with hew preloaded: threads, fork, libraries, alignment.
 *
 * It cannot share under_test.h, which speaks glibc.  Ends with 0 when everything held; the malloc must be hew's.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 40, OBJECTS = 500, FORKS = 20 };

static int failed;

static void
check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "not true: %s\n", what);
        failed = 1;
    }
}

/* Nonzero when an object lost what was written to it. */
static int
churn(unsigned seed)
{
    unsigned char *objects[OBJECTS];
    int wrong = 0;
    for (unsigned i = 0; i < OBJECTS; i++) {
        size_t size = 1 + (seed + i * 37u) % (i % 50 == 0 ? 200000 : 3000);
        objects[i] = malloc(size);
        wrong |= objects[i] == NULL;
        memset(objects[i], (int)(i & 0xff), size);
    }
    for (unsigned i = 0; i < OBJECTS; i++) {
        wrong |= objects[i][0] != (i & 0xff);
        free(objects[i]);
    }
    return wrong;
}

static void *
work(void *number)
{
    intptr_t wrong = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        wrong |= churn((unsigned)(uintptr_t)number + round);
    }
    return (void *)wrong;
}

static void
fork_once(void)
{
    pid_t child = fork();
    if (child == 0) {
        _exit(churn(3));
    }
    int status;
    check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child of a fork allocates");
}

void *an_object(void);

void *
an_object(void)
{
    return malloc(100);
}

static void
use_library(const char *file)
{
    void *library = dlopen(file, RTLD_NOW);
    check(library != NULL, "a library is opened");
    if (library != NULL) {
        void *(*make)(void) = (void *(*)(void))dlsym(library, "an_object");
        check(make != NULL && make != an_object, "it is another copy of this program");
        free(make()); /* hew would end the program for an object of another malloc */
        check(dlclose(library) == 0, "the library is closed");
    }
}

int
main(int count, char **words)
{
    Dl_info info;
    check(dladdr((void *)malloc, &info) != 0 && strstr(info.dli_fname, "libhew") != NULL, "malloc is hew's");
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        check(pthread_create(&threads[i], NULL, work, (void *)i) == 0, "a thread starts");
    }
    for (unsigned i = 0; i < FORKS; i++) {
        fork_once();
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *wrong;
        check(pthread_join(threads[i], &wrong) == 0 && wrong == NULL, "a thread's objects are as it wrote them");
    }
    void *aligned = NULL;
    check(posix_memalign(&aligned, 4096, 100) == 0 && (uintptr_t)aligned % 4096 == 0, "memory is aligned");
    free(aligned);
    aligned = aligned_alloc(64, 640);
    check(aligned != NULL && (uintptr_t)aligned % 64 == 0, "aligned_alloc gives memory");
    free(realloc(aligned, 100000));
    if (count > 1) {
        use_library(words[1]);
    }
    return failed;
}

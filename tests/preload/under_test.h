/* SPDX-License-Identifier: MIT */
/*
 * under_test: what every program of tests/preload/ shares.
 *
 * Owns      the proof that the allocator under test is really in use, and a few readings of the process itself.
 * Promises  stdout is written line by line, so that a crash shows which test it was.  When HEW_TEST_LIBRARY names a
 *           library, the program ends at once with exit status 3 unless malloc comes from a file of that name: a
 *           preload that the loader ignored must not pass as a test of hew.
 * Why       without HEW_TEST_LIBRARY the same programs run under any allocator, to check the tests themselves.  The
 *           checks that other allocators are known to fail stand behind under_test_strict().
 */
#ifndef HEW_TESTS_PRELOAD_UNDER_TEST_H
#define HEW_TESTS_PRELOAD_UNDER_TEST_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* True when the allocator must keep every promise of hew, not only those that all allocators share. */
static inline bool
under_test_strict(void)
{
    return getenv("HEW_TEST_LIBRARY") != NULL;
}

/* At the head of a TEST (unit/test.h) that other allocators are known to fail. */
#define UNDER_TEST_HEW_ALONE() TEST_SKIP_IF(!under_test_strict(), "HEW_TEST_LIBRARY is not set: another allocator")

#ifdef HEW_TEST_STATIC
/* glibc's own malloc has no free_sized: where the linker found one, it comes with the archive's malloc. */
#ifdef __cplusplus
extern "C"
#endif
    void
    free_sized(void *object, size_t size) __attribute__((weak));

static inline bool
under_test_library_in_use(const char *wanted)
{
    return wanted != NULL && free_sized != NULL;
}
#else
static inline bool
under_test_library_in_use(const char *wanted)
{
    Dl_info info;
    return dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) != 0 && strstr(info.dli_fname, wanted) != NULL;
}
#endif

__attribute__((constructor)) static void
under_test_check_library(void)
{
    const char *wanted = getenv("HEW_TEST_LIBRARY");
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (wanted == NULL || under_test_library_in_use(wanted))
        return;
    fprintf(stderr, "malloc does not come from %s\n", wanted);
    _exit(3);
}

/* Hides a value from the compiler, so that it neither warns about it nor computes with it. */
static inline size_t
under_test_opaque(size_t value)
{
    volatile size_t hidden = value;
    return hidden;
}

static inline uint64_t
under_test_random(uint64_t *state)
{
    uint64_t value = *state += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

/* Read by hand: fopen would allocate. */
static inline long
under_test_rss_kib(void)
{
    char text[128] = "";
    long total = 0, resident = 0;
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    if (length <= 0 || sscanf(text, "%ld %ld", &total, &resident) != 2)
        return -1;
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* What the system tells of this process behind its name, which may hold blanks; NULL when it cannot be told. */
static inline const char *
under_test_stat(char *text, size_t size)
{
    int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, size - 1);
    if (file >= 0)
        close(file);
    return length <= 0 ? NULL : strrchr(text, ')');
}

/* Threads of this process that the system knows; -1 when it cannot be told. */
static inline long
under_test_threads(void)
{
    char text[1024] = "";
    const char *field = under_test_stat(text, sizeof text);
    for (int number = 2; field != NULL && number < 20; number++)
        field = strchr(field + 1, ' ');
    return field == NULL ? -1 : atol(field);
}

static inline void
under_test_sleep_ms(long milliseconds)
{
    struct timespec rest = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        continue;
}

/* A number from the environment, for the long forms of a test. */
static inline long
under_test_setting(const char *name, long usual)
{
    const char *text = getenv(name);
    return text != NULL ? atol(text) : usual;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * probe: is the preloaded library really the allocator of this process, and does it behave?
 *
 *     LD_PRELOAD=/path/libx.so ./probe /path/libx.so
 *
 * Every standard entry point must resolve into that very file, and hold its contract on a few hundred objects, also when
 * another thread frees them.  Exits with 0, or with 1 after one line on stderr that says what is wrong.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECTS = 512 };

static const char *const entry[] = {
    "malloc",   "free",  "calloc", "realloc", "posix_memalign", "aligned_alloc", "malloc_usable_size",
    "memalign", "_Znwm", "_ZdlPv"};

static void
fail(const char *what, const char *detail)
{
    fprintf(stderr, "probe: %s%s\n", what, detail);
    exit(1);
}

/* C++'s operators count only where the library has them: libstdc++'s call malloc. */
static void
check_origin(const char *library)
{
    for (size_t i = 0; i < sizeof entry / sizeof entry[0]; i++) {
        char real[4096];
        Dl_info found;
        void *address = dlsym(RTLD_DEFAULT, entry[i]);
        if (address == NULL && entry[i][0] == '_')
            continue;
        if (address == NULL || dladdr(address, &found) == 0 || realpath(found.dli_fname, real) == NULL)
            fail("cannot be resolved: ", entry[i]);
        if (strcmp(real, library) != 0)
            fail("is not the library's: ", entry[i]);
    }
}

static size_t
size_of(size_t number)
{
    return number % 16 == 15 ? 4096 * number : 1 + number * 37 % 3000;
}

static void *
free_all(void *argument)
{
    unsigned char **object = argument;
    for (size_t i = 0; i < OBJECTS; i++) {
        size_t size = size_of(i);
        if (object[i][0] != (unsigned char)i || object[i][size - 1] != (unsigned char)i)
            fail("an object has changed", "");
        free(object[i]);
    }
    return NULL;
}

static void
check_objects(void)
{
    static unsigned char *object[OBJECTS];
    pthread_t thread;
    for (size_t i = 0; i < OBJECTS; i++) {
        size_t size = size_of(i);
        object[i] = malloc(size / 2 + 1);
        if (object[i] == NULL || malloc_usable_size(object[i]) < size / 2 + 1 || (uintptr_t)object[i] % 8 != 0)
            fail("malloc", "");
        object[i][0] = (unsigned char)i;
        object[i] = realloc(object[i], size);
        if (object[i] == NULL || object[i][0] != (unsigned char)i)
            fail("realloc", "");
        memset(object[i], (int)i, size);
    }
    if (pthread_create(&thread, NULL, free_all, object) != 0 || pthread_join(thread, NULL) != 0)
        fail("threads", "");
}

static void
check_special(void)
{
    for (size_t alignment = sizeof(void *); alignment <= 4096; alignment *= 2) {
        void *aligned = NULL, *other = aligned_alloc(alignment, alignment * 2);
        unsigned char *zeroed = calloc(alignment, 3);
        if (posix_memalign(&aligned, alignment, 100) != 0 || (uintptr_t)aligned % alignment != 0)
            fail("posix_memalign", "");
        if (other == NULL || (uintptr_t)other % alignment != 0)
            fail("aligned_alloc", "");
        for (size_t i = 0; i < alignment * 3; i++) {
            if (zeroed == NULL || zeroed[i] != 0)
                fail("calloc", "");
        }
        free(aligned);
        free(other);
        free(zeroed);
    }
}

int
main(int argc, char **argv)
{
    char real[4096];
    if (argc != 2 || realpath(argv[1], real) == NULL)
        fail("usage: probe LIBRARY, with LD_PRELOAD=LIBRARY", "");
    check_origin(real);
    check_objects();
    check_special();
    return 0;
}

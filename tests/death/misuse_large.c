/* SPDX-License-Identifier: MIT */
/*
 * misuse_large: what must not be done to large objects, which have whole pages to themselves.
 */
#include "misuse.h"

#include <dlfcn.h>
#include <malloc.h>

static void
free_large_twice(void)
{
    void *object = allocate(100000);
    free(object);
    free(opaque(object));
}

/* As many objects of a large class as a thread keeps, and more, come and go: magazines are as large as they get. */
static void
exchange(size_t size, unsigned rounds)
{
    void *objects[100];
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < 100; i++) {
            objects[i] = malloc(size);
        }
        for (unsigned i = 0; i < 100; i++) {
            free(objects[i]);
        }
    }
}

/* Three frees of two objects: both copies of the first one reach the page heap, in one batch or one after the other. */
static void
free_large_twice_with_one_between(size_t size)
{
    exchange(size, 50);
    void *object = allocate(size), *other = malloc(size);
    free(object);
    free(other);
    free(opaque(object));
    exchange(size, 50);
}

static void
free_20000_bytes_twice_with_one_between(void)
{
    free_large_twice_with_one_between(20000);
}

static void
free_40000_bytes_twice_with_one_between(void)
{
    free_large_twice_with_one_between(40000);
}

static void
free_1_mib_twice_with_one_between(void)
{
    free_large_twice_with_one_between(MIB);
}

static void
free_large_again_after_it_left_the_cache(void)
{
    void *object = allocate(20000);
    free(object);
    exchange(20000, 2);
    free(opaque(object));
    exchange(20000, 50);
}

/* Its class and its place would do for the new size, or pages behind it; or it would be copied. */
static void
realloc_large_that_is_free(size_t size)
{
    exchange(100000, 50);
    void *object = allocate(100000), *other = malloc(100000);
    free(object);
    free(other);
    unseen = realloc(opaque(object), size);
    exit(0);
}

static void
realloc_large_that_is_free_to_its_own_class(void)
{
    realloc_large_that_is_free(100001);
}

static void
realloc_large_that_is_free_to_half(void)
{
    realloc_large_that_is_free(50000);
}

static void
realloc_large_that_is_free_to_more(void)
{
    realloc_large_that_is_free(300000);
}

static void
realloc_large_that_is_free_to_a_small_size(void)
{
    realloc_large_that_is_free(100);
}

static void
rallocx_of_large_that_is_free(void)
{
    void *object = allocate(100000);
    free(object);
    unseen = ((void *(*)(void *, size_t, int))dlsym(RTLD_DEFAULT, "rallocx"))(opaque(object), 200000, 0);
}

static void
xallocx_of_large_that_is_free(void)
{
    void *object = allocate(100000);
    free(object);
    ((size_t (*)(void *, size_t, size_t, int))dlsym(RTLD_DEFAULT, "xallocx"))(opaque(object), 200000, 0, 0);
}

static void
realloc_what_is_free(void)
{
    void *object = allocate(3 * MIB);
    free(object);
    unseen = realloc(opaque(object), 100);
}

static void
free_huge_twice(void)
{
    void *object = allocate(5 * MIB);
    free(object);
    free(opaque(object));
}

static void
free_inside_freed_pages(void)
{
    char *object = malloc(5 * MIB);
    misuse_announce(object + 2 * MIB);
    free(object);
    free(opaque(object + 2 * MIB));
}

static void
ask_the_size_of_what_is_free(void)
{
    void *object = allocate(5 * MIB);
    free(object);
    malloc_usable_size(opaque(object));
}

static void
free_inside_a_large_object(void)
{
    char *object = malloc(200000);
    misuse_announce(object + 100000);
    misuse_announce(object);
    free(opaque(object + 100000));
}

/* The very next request finds it, before the program gets what is not an object. */
static void
free_the_second_page_of_a_large_object(void)
{
    char *object = aligned_alloc(16384, 20000);
    misuse_announce(object + 4096);
    misuse_announce(object);
    free(malloc(20000));
    free(opaque(object + 4096));
    unseen = malloc(20000);
    exit(0);
}

static void
free_inside_the_first_pages_of_a_large_object(void)
{
    char *object = aligned_alloc(16384, 200000);
    misuse_announce(object + 4096);
    misuse_announce(object);
    free(opaque(object + 4096));
    for (unsigned i = 0; i < 100; i++) { /* more than a cache holds */
        free(malloc(200000));
        free(opaque(aligned_alloc(16384, 200000)));
    }
    exit(0);
}

static void
free_inside_the_first_pages_of_a_huge_object(void)
{
    char *object = malloc(5 * MIB);
    misuse_announce(object + 16);
    misuse_announce(object);
    free(opaque(object + 16));
}

static void
free_inside_a_huge_object(void)
{
    char *object = malloc(5 * MIB);
    misuse_announce(object + 3 * MIB + 5);
    misuse_announce(object);
    free(opaque(object + 3 * MIB + 5));
}

static void
realloc_inside_a_large_object(void)
{
    char *object = malloc(200000);
    misuse_announce(object + 8192);
    misuse_announce(object);
    unseen = realloc(opaque(object + 8192), 300000);
}

#define NOT_LIVE "not a live allocation: the 114688-byte object at %0 is free already"

const struct misuse large_misuses[] = {
    {"realloc_large_that_is_free_to_its_own_class", realloc_large_that_is_free_to_its_own_class, QUIET,
     "<hew>: realloc(%0): " NOT_LIVE},
    {"realloc_large_that_is_free_to_half", realloc_large_that_is_free_to_half, QUIET, "<hew>: realloc(%0): " NOT_LIVE},
    {"realloc_large_that_is_free_to_more", realloc_large_that_is_free_to_more, QUIET, "<hew>: realloc(%0): " NOT_LIVE},
    {"realloc_large_that_is_free_to_a_small_size", realloc_large_that_is_free_to_a_small_size, QUIET,
     "<hew>: realloc(%0): " NOT_LIVE},
    {"rallocx_of_large_that_is_free", rallocx_of_large_that_is_free, QUIET, "<hew>: rallocx(%0): " NOT_LIVE},
    {"xallocx_of_large_that_is_free", xallocx_of_large_that_is_free, QUIET, "<hew>: xallocx(%0): " NOT_LIVE},
    {"free_large_twice", free_large_twice, NULL,
     FREE "not a live allocation: the 114688-byte object at %0 is free already"},
    {"free_20000_bytes_twice_with_one_between", free_20000_bytes_twice_with_one_between, QUIET,
     FREE "not a live allocation: the 20480-byte object at %0 is free already"},
    {"free_40000_bytes_twice_with_one_between", free_40000_bytes_twice_with_one_between, QUIET,
     FREE "double free: the 40960-byte object at %0 is free already"},
    {"free_1_mib_twice_with_one_between", free_1_mib_twice_with_one_between, QUIET,
     FREE "not a live allocation: the 1048576-byte object at %0 is free already"},
    {"free_large_again_after_it_left_the_cache", free_large_again_after_it_left_the_cache, QUIET,
     FREE "not a live allocation: the 20480-byte object at %0 is free already"},
    {"realloc_what_is_free", realloc_what_is_free, QUIET,
     "<hew>: realloc(%0): not a live allocation: the 3145728-byte object at %0 is free already"},
    {"free_huge_twice", free_huge_twice, QUIET,
     FREE "not a live allocation: the 5242880-byte object at %0 is free already"},
    {"free_inside_freed_pages", free_inside_freed_pages, QUIET, FREE FREED},
    {"ask_the_size_of_what_is_free", ask_the_size_of_what_is_free, QUIET,
     "<hew>: malloc_usable_size(%0): not a live allocation: the 5242880-byte object at %0 is free already"},
    {"free_inside_a_large_object", free_inside_a_large_object, NULL, FREE INSIDE "229376-byte object at %1"},
    {"free_the_second_page_of_a_large_object", free_the_second_page_of_a_large_object, NULL,
     FREE INSIDE "20480-byte object at %1"},
    {"free_inside_the_first_pages_of_a_large_object", free_inside_the_first_pages_of_a_large_object, NULL,
     FREE INSIDE "229376-byte object at %1"},
    {"free_inside_the_first_pages_of_a_huge_object", free_inside_the_first_pages_of_a_huge_object, NULL,
     FREE INSIDE "5242880-byte object at %1"},
    {"free_inside_a_huge_object", free_inside_a_huge_object, NULL, FREE INSIDE "5242880-byte object at %1"},
    {"realloc_inside_a_large_object", realloc_inside_a_large_object, NULL,
     "<hew>: realloc(%0): " INSIDE "229376-byte object at %1"},
    {NULL, NULL, NULL, NULL},
};

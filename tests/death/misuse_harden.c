/* SPDX-License-Identifier: MIT */
/* What hardening:check and full find: each call that makes the mistake ends the process, whatever else the thread did between. */
#include "misuse.h"

#include <malloc.h>
#include <pthread.h>
#include <string.h>

#define CHECK "hardening:check"
#define FULL "hardening:full"
#define MANY 300

static void
free_small_twice_with_many_between(void)
{
    void *objects[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        objects[i] = i == 0 ? allocate(100) : malloc(100);
    }
    for (unsigned i = 0; i < MANY; i++) {
        free(objects[i]);
    }
    free(opaque(objects[0]));
}

static void *
free_it(void *object)
{
    free(object);
    return NULL;
}

static void
free_small_in_a_thread_then_here(void)
{
    pthread_t thread;
    void *object = allocate(100);
    pthread_create(&thread, NULL, free_it, object);
    pthread_join(thread, NULL);
    free(opaque(object));
}

static void
free_small_16_bytes_inside(void)
{
    char *object = opaque(malloc(100));
    misuse_announce(object + 16);
    misuse_announce(object);
    free(opaque(object + 16));
}

static void
free_large_a_page_inside(void)
{
    char *object = opaque(malloc(20000));
    misuse_announce(object + 4096);
    misuse_announce(object);
    free(opaque(object + 4096));
}

static void
free_large_twice_with_many_between(void)
{
    void *objects[4];
    for (unsigned i = 0; i < 4; i++) {
        objects[i] = i == 0 ? allocate(20000) : malloc(20000);
    }
    for (unsigned i = 0; i < 4; i++) {
        free(objects[i]);
    }
    free(opaque(objects[0]));
}

static void
usable_size_of_free_small(void)
{
    void *object = allocate(100), *other = malloc(100);
    free(object);
    free(other);
    malloc_usable_size(opaque(object));
}

static void
realloc_of_free_small_with_another_between(void)
{
    void *object = allocate(100), *other = malloc(100);
    free(object);
    free(other);
    unseen = realloc(opaque(object), 90);
}

static void
write_to_free_small(void)
{
    char *object = allocate(100);
    free(object);
    memcpy(opaque(object), "after", 5);
    for (unsigned i = 0; i < MANY; i++) {
        unseen = malloc(100);
    }
}

static void
write_zero_to_free_small(void)
{
    char *object = allocate(100);
    free(object);
    memset(opaque(object), 0, 8);
    for (unsigned i = 0; i < MANY; i++) {
        unseen = malloc(100);
    }
}

/* As many frees as push it out of the quarantine, and allocations until a pool hands it out. */
static void
wait_for(void *object)
{
    for (unsigned i = 0; i < 100000 && opaque(object) != NULL; i++) {
        free(opaque(malloc(100)));
    }
}

static void
write_into_the_middle_of_free_small(void)
{
    char *object = allocate(100);
    free(object);
    memcpy((char *)opaque(object) + 50, "x", 1);
    wait_for(object);
}

static void
write_a_byte_beyond_small(void)
{
    char *object = allocate(100);
    memcpy((char *)opaque(object) + 100, "x", 1);
    free(object);
}

static void
write_16_bytes_beyond_small(void)
{
    char *object = allocate(104);
    memset((char *)opaque(object) + 104, 0, 16);
    free(object);
}

static void
free_small_twice_in_full(void)
{
    char *object = allocate(90), *other = malloc(90);
    free(object);
    free(other);
    free(opaque(object));
}

#define TWICE "double free: the 112-byte object at %0 is free already"
#define IS_FREE "(%0): not a live allocation: the 112-byte object at %0 is free already"
#define WRITTEN "<hew>: malloc(%0): written to after it was freed: the program wrote to its first word after that"

const struct misuse harden_misuses[] = {
    {"free_small_twice_with_many_between", free_small_twice_with_many_between, CHECK, FREE TWICE},
    {"free_small_in_a_thread_then_here", free_small_in_a_thread_then_here, CHECK, FREE TWICE},
    {"free_small_16_bytes_inside", free_small_16_bytes_inside, CHECK, FREE INSIDE "112-byte object at %1"},
    {"free_large_a_page_inside", free_large_a_page_inside, CHECK, FREE INSIDE "20480-byte object at %1"},
    {"free_large_twice_with_many_between", free_large_twice_with_many_between, CHECK,
     FREE "not a live allocation: the 20480-byte object at %0 is free already"},
    {"usable_size_of_free_small", usable_size_of_free_small, CHECK, "<hew>: malloc_usable_size" IS_FREE},
    {"realloc_of_free_small_with_another_between", realloc_of_free_small_with_another_between, CHECK,
     "<hew>: realloc" IS_FREE},
    {"write_to_free_small", write_to_free_small, CHECK, WRITTEN},
    {"write_zero_to_free_small", write_zero_to_free_small, CHECK, WRITTEN},
    {"write_into_the_middle_of_free_small", write_into_the_middle_of_free_small, FULL,
     "<hew>: malloc(%0): written to after it was freed: the program wrote to it after that"},
    {"write_a_byte_beyond_small", write_a_byte_beyond_small, FULL, FREE "written beyond its end"},
    {"write_16_bytes_beyond_small", write_16_bytes_beyond_small, FULL, FREE "written beyond its end"},
    {"free_small_twice_in_full", free_small_twice_in_full, FULL, FREE TWICE},
    {NULL, NULL, NULL, NULL},
};

/* SPDX-License-Identifier: MIT */
/*
 * mapping_race: realloc moves pages of large objects while other threads map and unmap memory of their own.
 *
 * A move that leaves a hole in the address space, be it for a moment, lets a neighbour's mapping in and then destroys it.
 */
#include "under_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define PAGE 4096u
#define TIMES 500
#define LARGEST 40000000u

static _Atomic bool stop;
static _Atomic long destroyed, grown, mapped;

static bool
holds(const char *pages, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PAGE)
        if (pages[at] != (char)(at / PAGE | 1))
            return false;
    return true;
}

static void *
map_and_look(void *seed)
{
    uint64_t state = (uintptr_t)seed;
    while (!stop) {
        size_t bytes = PAGE * (1 + under_test_random(&state) % 200);
        char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED)
            continue;
        for (size_t at = 0; at < bytes; at += PAGE)
            pages[at] = (char)(at / PAGE | 1);
        for (int look = 0; look < 3; look++)
            destroyed += !holds(pages, bytes);
        munmap(pages, bytes);
        mapped++;
    }
    return NULL;
}

static void *
grow_large_objects(void *unused)
{
    (void)unused;
    while (!stop) {
        size_t bytes = 600000;
        for (char *object = malloc(bytes); object != NULL; grown++) {
            memset(object, 7, bytes);
            size_t more = bytes * 5 / 4;
            char *moved = more > LARGEST ? NULL : realloc(object, more);
            if (moved == NULL) {
                free(object);
                break;
            }
            destroyed += moved[0] != 7 || moved[bytes - 1] != 7;
            object = moved;
            bytes = more;
        }
    }
    return NULL;
}

int
main(void)
{
    pthread_t threads[5];
    for (uintptr_t i = 0; i < 5; i++)
        if (pthread_create(&threads[i], NULL, i < 3 ? map_and_look : grow_large_objects, (void *)(i + 1)) != 0)
            return 1;
    while (grown < TIMES || mapped < TIMES) {
        under_test_sleep_ms(1);
    }
    stop = true;
    for (int i = 0; i < 5; i++)
        pthread_join(threads[i], NULL);
    printf("%ld objects grown, %ld times memory was not as it was left\n", (long)grown, (long)destroyed);
    return destroyed != 0;
}

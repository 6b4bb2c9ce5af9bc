/* SPDX-License-Identifier: MIT */
/*
 * virtual_size: a small program's address space with reserve_maps:false; 9 GiB without that setting.  Threads, since each
 * has a cache and may have an arena.
 */
#include "fakes/mapping.h"
#include "under_test.h"
#include "unit/test.h"

#include <pthread.h>

enum { MOST_MIB = 200, THREADS = 4, STACK = 256 << 10, OBJECTS = 2000 };

static void *
work(void *unused)
{
    static __thread char *kept[OBJECTS];
    for (int i = 0; i < OBJECTS; i++) {
        size_t size = (size_t)(i % 80 * i % 3000 + 8);
        kept[i] = malloc(size);
        memset(kept[i], i, size);
    }
    for (int i = 0; i < OBJECTS; i++) {
        CHECK(kept[i][7] == (char)i);
        free(kept[i]);
    }
    return unused;
}

TEST(a_small_program_has_a_small_virtual_size)
{
    pthread_t threads[THREADS];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], &small, work, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    char *large = malloc(20 << 20), *larger = realloc(large, 40 << 20);
    CHECK(larger != NULL);
    size_t mib = mapping_all() >> 20;
    printf("# %zu MiB of address space\n", mib);
    CHECK(mib < MOST_MIB);
    free(larger);
}

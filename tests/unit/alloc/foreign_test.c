/* SPDX-License-Identifier: MIT */
/* foreign: the C library's malloc is the allocator of before. */
#include "alloc/foreign.h"

#include "alloc/flags.h"
#include "layers_alloc.h"
#include "test.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CACHE(number) ((int)(((unsigned)(number) + 2) << 8))
#define ARENA(index) ((int)(((unsigned)(index) + 1) << 20))

static _Atomic unsigned freed;

static void
free_old(void *object)
{
    freed++;
    free(object);
}

static size_t
usable_old(void *object)
{
    return malloc_usable_size(object);
}

static void
begin(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_swapped.usable = usable_old;
        hew_swapped.free = free_old;
    }
    freed = 0;
    hew_swapped.frees = hew_swapped.resizes = 0;
}

static void
end(void)
{
    layers_end_thread();
    CHECK(layers_settled());
}

static char *
old_object(size_t size)
{
    char *object = malloc(size);
    memset(object, 'x', size);
    return object;
}

static bool
is_ours(const void *object)
{
    return hew_map_extent((uintptr_t)object) != NULL;
}

static bool
holds(const char *object, size_t size)
{
    size_t at = 0;
    while (at < size && object[at] == 'x') {
        at++;
    }
    return at == size;
}

TEST(every_free_gives_an_object_back_to_the_allocator_that_made_it)
{
    begin();
    layers_free(old_object(100));
    layers_free(old_object(1 << 20));
    hew_flags_free("dallocx", old_object(100), 0);
    hew_flags_free("dallocx", old_object(100), CACHE(7)); /* a cache that hew does not have */
    CHECK_EQUAL(freed, 4);
    CHECK_EQUAL(hew_swapped.frees, 4);
    layers_free(layers_malloc(100));
    CHECK_EQUAL(freed, 4);
    end();
}

TEST(realloc_moves_an_object_whether_it_grows_or_shrinks)
{
    static const size_t sizes[][2] = {{100, 5000}, {5000, 100}, {100, 100}, {100, 1 << 20}, {1 << 20, 100}};
    begin();
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t from = sizes[i][0], to = sizes[i][1];
        char *moved = hew_realloc_object(old_object(from), to);
        CHECK(is_ours(moved));
        CHECK(holds(moved, from < to ? from : to));
        layers_free(moved);
        CHECK_EQUAL(freed, i + 1);
        CHECK_EQUAL(hew_swapped.resizes, i + 1);
    }
    end();
}

TEST(a_realloc_that_fails_leaves_the_object)
{
    begin();
    char *object = old_object(100);
    CHECK(hew_realloc_object(object, SIZE_MAX) == NULL);
    CHECK(holds(object, 100));
    CHECK_EQUAL(freed, 0);
    free(object);
    end();
}

TEST(sizes_are_the_old_allocators)
{
    begin();
    char *object = old_object(100);
    CHECK_EQUAL(hew_alloc_usable("malloc_usable_size", object), malloc_usable_size(object));
    CHECK(hew_alloc_is_sized("free_sized", object, 100, 0));
    CHECK_EQUAL(hew_flags_resize(object, 10000, 0, 0), malloc_usable_size(object));
    layers_free(object);
    end();
}

TEST(rallocx_leaves_arenas_and_caches_of_the_old_allocator_out)
{
    begin();
    char *moved = hew_flags_realloc(old_object(100), 5000, ARENA(4000) | CACHE(1000) | HEW_FLAGS_ZERO);
    CHECK(is_ours(moved) && holds(moved, 100));
    CHECK_EQUAL(moved[4999], 0);
    CHECK_EQUAL(freed, 1);
    hew_flags_free("dallocx", moved, CACHE(1000));
    end();
}

#define THREADS 4
#define OBJECTS 500

static void *
drain(void *objects)
{
    for (unsigned i = 0; i < OBJECTS; i++) {
        char *object = ((char **)objects)[i];
        layers_free(i % 2 == 0 ? object : hew_realloc_object(object, 300));
    }
    layers_end_thread();
    return NULL;
}

TEST(threads_drain_the_old_heap_together)
{
    static char *objects[THREADS][OBJECTS];
    pthread_t threads[THREADS];
    begin();
    for (unsigned i = 0; i < THREADS * OBJECTS; i++) {
        objects[i % THREADS][i / THREADS] = old_object(200); /* neighbors belong to different threads */
    }
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, drain, objects[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
    CHECK_EQUAL(freed, THREADS * OBJECTS);
    CHECK_EQUAL(hew_swapped.frees, THREADS * OBJECTS);
    CHECK_EQUAL(hew_swapped.resizes, THREADS * OBJECTS / 2);
    end();
}

TEST(what_cannot_be_an_object_is_not_passed_on)
{
    static char fixed[64];
    begin();
    char *memory = mmap(NULL, 3 * HEW_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *own = layers_malloc(100);
    CHECK(mprotect(memory, HEW_PAGE, PROT_NONE) == 0);
    CHECK(munmap(memory + 2 * HEW_PAGE, HEW_PAGE) == 0);
    CHECK(!hew_foreign_is_plausible(NULL));
    CHECK(!hew_foreign_is_plausible(fixed + 16));
    CHECK(!hew_foreign_is_plausible((const void *)&begin));
    CHECK(!hew_foreign_is_plausible(own));
    CHECK(!hew_foreign_is_plausible(memory + 64));
    CHECK(!hew_foreign_is_plausible(memory + 2 * HEW_PAGE));
    CHECK(!hew_foreign_is_plausible(memory + HEW_PAGE + 3));
    CHECK(hew_foreign_is_plausible(memory + HEW_PAGE)); /* begins a page: nothing before it is looked at */
    CHECK(hew_foreign_is_plausible(memory + HEW_PAGE + 16));
    CHECK(hew_foreign_is_plausible(memory + HEW_PAGE + 16)); /* and when its page is known */
    munmap(memory, 2 * HEW_PAGE);
    layers_free(own);
    end();
}

/* SPDX-License-Identifier: MIT */
/*
 * deepbind: libraries that a program loads with RTLD_DEEPBIND share its malloc all the same.
 */
#include "under_test.h"
#include "unit/test.h"

static void *(*module_make)(size_t);
static void *(*module_grow)(void *, size_t);
static void (*module_free)(void *);
static void *(*module_open)(const char *);

static void *
load(void)
{
    void *library = dlopen(HEW_TEST_MODULE, RTLD_NOW | RTLD_DEEPBIND);
    CHECK(library != NULL);
    *(void **)&module_make = dlsym(library, "module_make");
    *(void **)&module_grow = dlsym(library, "module_grow");
    *(void **)&module_free = dlsym(library, "module_free");
    *(void **)&module_open = dlsym(library, "module_open");
    return library;
}

TEST(objects_cross_between_a_program_and_a_library_bound_deeply)
{
    void *library = load();
    for (size_t size = 1; size < 4000000; size = size * 3 + 1) {
        unsigned char *theirs = module_make(size);
        CHECK(theirs != NULL && theirs[size - 1] == 7);
        theirs = realloc(theirs, size * 2);
        CHECK(theirs != NULL && theirs[size - 1] == 7);
        free(theirs);
        unsigned char *ours = malloc(size);
        CHECK(ours != NULL);
        ours[0] = 9;
        ours = module_grow(ours, size * 2);
        CHECK(ours != NULL && ours[0] == 9);
        module_free(ours);
    }
    CHECK_EQUAL(dlclose(library), 0);
}

TEST(a_library_finds_its_neighbour_by_its_own_runpath)
{
    void *library = load();
    CHECK(dlopen(HEW_TEST_NEIGHBOUR, RTLD_NOW) == NULL); /* the program's does not lead there */
    void *neighbour = module_open(HEW_TEST_NEIGHBOUR);
    CHECK(neighbour != NULL);
    void *(*make)(size_t) = (void *(*)(size_t))dlsym(neighbour, "module_make");
    void *object = make(1000);
    module_free(object);
    CHECK_EQUAL(dlclose(neighbour), 0);
    CHECK_EQUAL(dlclose(library), 0);
}

/* SPDX-License-Identifier: MIT */
/* new: the whole library is linked in, so this program runs on it. */
#include "api/new.h"

#include "cache/magazine.h"
#include "test.h"

#define OBJECTS 5000

static void *objects[OBJECTS];

/* Volatile, since compilers know the operators by name and leave out what is allocated for nothing. */
static void *(*volatile new_object)(size_t size) = _Znwm;
static void *(*volatile new_array)(size_t size) = _Znam;
static void *(*volatile new_aligned)(size_t size, size_t alignment) = _ZnwmSt11align_val_t;
static void *(*volatile new_or_null)(size_t size, const void *nothrow) = _ZnwmRKSt9nothrow_t;
static void *(*volatile new_aligned_or_null)(size_t size, size_t alignment,
                                             const void *nothrow) = _ZnamSt11align_val_tRKSt9nothrow_t;

static uint64_t
requests(size_t size)
{
    return hew_cache_requests(hew_cache_self, hew_code_of_size(size));
}

TEST(operator_new_counts_each_object_once_over_many_periods)
{
    _ZdlPv(new_object(768)); /* the library is up, and the thread has a cache */
    uint64_t before = requests(768);
    for (unsigned i = 0; i < OBJECTS; i++) {
        objects[i] = new_object(768);
        CHECK(objects[i] != NULL);
    }
    CHECK_EQUAL(requests(768) - before, OBJECTS);
    for (unsigned i = 0; i < OBJECTS; i++) {
        _ZdlPvm(objects[i], 768);
    }
    unsigned beyond = 0;
    for (unsigned i = 0; i < OBJECTS; i++) {
        _ZdlPv(new_object(768));
        beyond += hew_cache_self->ticks[hew_code_of_size(768)] - 1 >= HEW_CACHE_PERIOD;
    }
    CHECK_EQUAL(beyond, 0); /* each period ends, and the magazine is looked after */
    CHECK_EQUAL(requests(768) - before, 2 * OBJECTS);
}

TEST(every_form_of_operator_new_counts_each_object_once)
{
    uint64_t before = requests(256);
    for (unsigned i = 0; i < OBJECTS; i++) {
        void *plain = new_array(256), *aligned = new_aligned(250, 64);
        void *quiet = new_or_null(256, NULL);
        CHECK(plain != NULL && aligned != NULL && quiet != NULL);
        CHECK_EQUAL((uintptr_t)aligned % 64, 0);
        _ZdaPv(plain);
        _ZdlPvmSt11align_val_t(aligned, 250, 64);
        _ZdlPv(quiet);
    }
    CHECK_EQUAL(requests(256) - before, 3 * OBJECTS);
}

TEST(nothrow_without_memory_is_null)
{
    CHECK(new_or_null((size_t)1 << 60, NULL) == NULL);
    CHECK(new_aligned_or_null((size_t)1 << 60, 4096, NULL) == NULL);
}

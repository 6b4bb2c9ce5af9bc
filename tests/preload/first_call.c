/* SPDX-License-Identifier: MIT */
/*
 * first_call: each entry point as the very first call that the allocator of a process sees.
 *
 * The parent never allocates (nothing is printed before a check fails), so each child that it forks meets an allocator
 * that nothing has started yet.
 */
#include "under_test.h"
#include "unit/test.h"

#include <malloc.h>
#include <sys/wait.h>

static bool
first_free_of_null(void)
{
    free(NULL);
    return true;
}

static bool
first_malloc(void)
{
    return malloc(100) != NULL;
}

static bool
first_large_malloc(void)
{
    return malloc((size_t)40 << 20) != NULL;
}

static bool
first_calloc(void)
{
    unsigned char *object = calloc(10, 1000);
    return object != NULL && object[0] == 0 && object[9999] == 0;
}

static bool
first_realloc_of_null(void)
{
    return realloc(NULL, 100) != NULL;
}

static bool
first_posix_memalign(void)
{
    void *object = NULL;
    return posix_memalign(&object, 4096, 100) == 0 && (uintptr_t)object % 4096 == 0;
}

static bool
first_aligned_alloc(void)
{
    void *object = aligned_alloc(64, 640);
    return object != NULL && (uintptr_t)object % 64 == 0;
}

static bool
first_usable_size_of_null(void)
{
    return malloc_usable_size(NULL) == 0;
}

static bool
first_refusal(void)
{
    return malloc(under_test_opaque(SIZE_MAX)) == NULL && errno == ENOMEM;
}

static bool
first_trim(void)
{
    int returned = malloc_trim(0);
    return returned == 0 || returned == 1;
}

static bool
first_mallopt(void)
{
    return mallopt(M_ARENA_MAX, 1) == 1;
}

static bool
first_mallinfo2(void)
{
    return mallinfo2().uordblks < (size_t)1 << 40;
}

static bool
first_child(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(malloc(100) == NULL);
    return waitpid(child, &status, 0) == child && status == 0;
}

/* Goes on afterwards as any program does: the late start must leave a whole allocator. */
static bool
goes_on(void)
{
    for (size_t size = 1; size < (size_t)4 << 20; size *= 3) {
        unsigned char *object = malloc(size);
        if (object == NULL)
            return false;
        memset(object, 1, size);
        free(object);
    }
    return true;
}

TEST(any_entry_point_may_be_the_first_call_of_a_process)
{
    bool (*const first[])(void) = {first_free_of_null,
                                   first_malloc,
                                   first_large_malloc,
                                   first_calloc,
                                   first_realloc_of_null,
                                   first_posix_memalign,
                                   first_aligned_alloc,
                                   first_usable_size_of_null,
                                   first_refusal,
                                   first_trim,
                                   first_mallopt,
                                   first_mallinfo2,
                                   first_child};
    static const char *const name[] = {
        "free of NULL",     "malloc",         "large malloc",  "calloc",
        "realloc of NULL",  "posix_memalign", "aligned_alloc", "malloc_usable_size of NULL",
        "refused malloc",   "malloc_trim",    "mallopt",       "mallinfo2",
        "malloc in a child"};
    enum { COUNT = sizeof first / sizeof first[0] };
    int status[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(first[i]() && goes_on() ? 0 : 1);
        if (waitpid(child, &status[i], 0) != child)
            status[i] = -1;
    }
    for (size_t i = 0; i < COUNT; i++) {
        if (status[i] != 0)
            printf("first call: %s: wait status %d\n", name[i], status[i]);
        CHECK_EQUAL(status[i], 0);
    }
}

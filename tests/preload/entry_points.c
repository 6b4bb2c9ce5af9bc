/* SPDX-License-Identifier: MIT */
/*
 * entry_points: what each C entry point does at its edges: zero, overflow, no memory, bad arguments, errno.
 *
 * The expectations are glibc's, which programs rely on.  Not here: alignment of every class (alignment.c), the bytes
 * themselves (contents.c), settings and statistics (tuning_calls.c), operator new (cxx_operators.cpp).
 */
#include "under_test.h"
#include "unit/test.h"

#include <limits.h>
#include <malloc.h>

static void *const untouched = &test_failures;

/* The sizes that no allocator can serve: beyond PTRDIFF_MAX. */
static const size_t impossible[] = {(size_t)PTRDIFF_MAX + 1, (size_t)PTRDIFF_MAX + 4096, SIZE_MAX - 4096, SIZE_MAX - 15,
                                    SIZE_MAX};
enum { IMPOSSIBLE = sizeof impossible / sizeof impossible[0] };

/* Frees what should not have been handed out, so that one failure does not become many. */
static bool
refused(void *object)
{
    bool was_refused = object == NULL && errno == ENOMEM;
    free(object);
    errno = 0;
    return was_refused;
}

/* The file that a symbol comes from, or NULL. */
static const char *
home_of(const char *name)
{
    Dl_info info;
    void *symbol = dlsym(RTLD_DEFAULT, name);
    return symbol != NULL && dladdr(symbol, &info) != 0 ? info.dli_fname : NULL;
}

/* jemalloc leaves pvalloc to glibc: what it returns cannot be freed, and so is not asked for. */
static bool
pvalloc_belongs(void)
{
    const char *home = home_of("malloc"), *other = home_of("pvalloc");
    return home != NULL && other != NULL && strcmp(home, other) == 0;
}

TEST(every_entry_point_comes_from_one_library)
{
    static const char *const names[] = {"malloc",         "calloc",
                                        "realloc",        "reallocarray",
                                        "free",           "cfree",
                                        "free_sized",     "free_aligned_sized",
                                        "posix_memalign", "aligned_alloc",
                                        "memalign",       "valloc",
                                        "pvalloc",        "malloc_usable_size",
                                        "malloc_trim",    "mallopt",
                                        "mallinfo",       "mallinfo2",
                                        "malloc_info",    "malloc_stats"};
    const char *wanted = getenv("HEW_TEST_LIBRARY");
    for (size_t i = 0; wanted != NULL && i < sizeof names / sizeof names[0]; i++) {
        const char *home = home_of(names[i]);
        if (home == NULL || strstr(home, wanted) == NULL)
            printf("%s comes from %s\n", names[i], home == NULL ? "nowhere" : home);
        CHECK(home != NULL && strstr(home, wanted) != NULL);
    }
}

TEST(an_impossible_size_is_enomem_at_every_power_of_two)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        size_t alignment = (size_t)1 << bit, size = under_test_opaque(SIZE_MAX);
        errno = 0;
        CHECK(memalign(alignment, size) == NULL);
        CHECK_EQUAL(errno, ENOMEM);
        errno = 0;
        CHECK(aligned_alloc(alignment, size) == NULL);
        CHECK_EQUAL(errno, ENOMEM);
    }
}

TEST(malloc_refuses_impossible_sizes_with_enomem)
{
    errno = 0;
    for (size_t i = 0; i < IMPOSSIBLE; i++)
        CHECK(refused(malloc(under_test_opaque(impossible[i]))));
}

TEST(calloc_refuses_a_product_that_overflows)
{
    errno = 0;
    for (size_t i = 0; i < IMPOSSIBLE; i++) {
        CHECK(refused(calloc(under_test_opaque(impossible[i]), 1)));
        CHECK(refused(calloc(1, under_test_opaque(impossible[i]))));
    }
    CHECK(refused(calloc(under_test_opaque(SIZE_MAX / 2 + 1), 2)));
    CHECK(refused(calloc(under_test_opaque((size_t)1 << 32), (size_t)1 << 32)));
    CHECK(refused(calloc(under_test_opaque(SIZE_MAX / 16 + 2), 16)));
}

TEST(realloc_refuses_impossible_sizes_and_keeps_the_object)
{
    unsigned char *object = malloc(100);
    memset(object, 0x5a, 100);
    errno = 0;
    for (size_t i = 0; i < IMPOSSIBLE; i++)
        CHECK(refused(realloc(object, under_test_opaque(impossible[i]))));
    for (size_t i = 0; i < 100; i++)
        CHECK_EQUAL(object[i], 0x5a);
    free(object);
}

TEST(reallocarray_refuses_a_product_that_overflows_and_keeps_the_object)
{
    unsigned char *volatile object = malloc(100);
    memset(object, 0x5a, 100);
    errno = 0;
    CHECK(refused(reallocarray(object, under_test_opaque(SIZE_MAX / 2 + 1), 2)));
    CHECK(refused(reallocarray(object, under_test_opaque((size_t)1 << 32), (size_t)1 << 32)));
    CHECK(refused(reallocarray(object, under_test_opaque(SIZE_MAX / 4096 + 2), 4096)));
    CHECK_EQUAL(object[0], 0x5a);
    CHECK_EQUAL(object[99], 0x5a);
    unsigned char *grown = reallocarray(object, 1000, 7);
    CHECK(grown != NULL && malloc_usable_size(grown) >= 7000);
    CHECK(grown != NULL && grown[0] == 0x5a && grown[99] == 0x5a);
    free(grown);
}

TEST(aligned_calls_refuse_impossible_sizes_with_enomem)
{
    errno = 0;
    for (size_t i = 0; i < IMPOSSIBLE; i++) {
        CHECK(refused(memalign(64, under_test_opaque(impossible[i]))));
        CHECK(refused(memalign(1 << 20, under_test_opaque(impossible[i]))));
        CHECK(refused(aligned_alloc(64, under_test_opaque(impossible[i]))));
        CHECK(refused(valloc(under_test_opaque(impossible[i]))));
        if (pvalloc_belongs())
            CHECK(refused(pvalloc(under_test_opaque(impossible[i]))));
    }
}

TEST(malloc_of_zero_gives_a_unique_object_each_time)
{
    enum { COUNT = 1000 };
    static void *object[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        object[i] = i % 2 == 0 ? malloc(0) : calloc(0, 8);
        CHECK(object[i] != NULL);
    }
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = i + 1; j < COUNT; j++) {
            if (object[i] == object[j])
                CHECK(!"two objects of no bytes share an address");
        }
    }
    for (size_t i = 0; i < COUNT; i++)
        free(object[i]);
}

TEST(aligned_calls_of_zero_bytes_give_an_object_that_can_be_freed)
{
    void *object = NULL;
    CHECK(posix_memalign(&object, 64, 0) == 0 && object != NULL);
    free(object);
    object = aligned_alloc(64, 0);
    CHECK(object != NULL);
    free(object);
    object = memalign(4096, 0);
    CHECK(object != NULL);
    free(object);
    object = valloc(0);
    CHECK(object != NULL);
    free(object);
    TEST_SKIP_IF(!pvalloc_belongs(), "pvalloc is not this allocator's");
    object = pvalloc(0);
    CHECK(object != NULL);
    free(object);
}

TEST(realloc_to_zero_frees_and_returns_null)
{
    for (size_t size = 1; size <= (size_t)8 << 20; size *= 7) {
        errno = 0;
        CHECK(realloc(malloc(size), under_test_opaque(0)) == NULL);
        CHECK_EQUAL(errno, 0);
    }
}

TEST(realloc_to_zero_gives_the_memory_back)
{
    long before = under_test_rss_kib();
    size_t not_null = 0;
    for (size_t i = 0; i < 4096; i++) {
        unsigned char *object = malloc(1 << 20);
        memset(object, 1, 4096);
        not_null += realloc(object, under_test_opaque(0)) != NULL;
    }
    CHECK_EQUAL(not_null, 0);
    CHECK(under_test_rss_kib() < before + 12 * 1024);
}

TEST(realloc_of_null_is_malloc)
{
    for (size_t size = 0; size <= (size_t)8 << 20; size = size * 5 + 1) {
        unsigned char *object = realloc(NULL, size);
        CHECK(object != NULL && malloc_usable_size(object) >= size);
        memset(object, 0x33, size);
        free(object);
        object = reallocarray(NULL, size, 1);
        CHECK(object != NULL && malloc_usable_size(object) >= size);
        free(object);
    }
}

TEST(free_of_null_does_nothing)
{
    errno = 42;
    free(NULL);
    CHECK_EQUAL(errno, 42);
}

TEST(free_keeps_errno_at_every_size)
{
    for (size_t size = 1; size <= (size_t)256 << 20; size *= 2) {
        void *object = malloc(size);
        CHECK(object != NULL);
        errno = 1234;
        free(object);
        CHECK_EQUAL(errno, 1234);
    }
}

TEST(success_leaves_errno_alone)
{
    for (size_t size = 1; size <= (size_t)64 << 20; size *= 3) {
        errno = 77;
        void *object = malloc(size);
        CHECK_EQUAL(errno, 77);
        object = realloc(object, size * 2);
        CHECK_EQUAL(errno, 77);
        free(object);
        free(calloc(size, 1));
        CHECK_EQUAL(errno, 77);
    }
}

TEST(posix_memalign_names_a_bad_alignment_and_touches_nothing)
{
    const size_t bad[] = {0, 1, 2, 4, 3, 7, 9, 12, 24, 48, 100, 4095, 4097, SIZE_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        void *object = untouched;
        errno = 99;
        CHECK_EQUAL(posix_memalign(&object, under_test_opaque(bad[i]), 100), EINVAL);
        CHECK(object == untouched);
        CHECK_EQUAL(errno, 99);
    }
}

TEST(posix_memalign_reports_no_memory_and_leaves_the_pointer)
{
    const size_t alignments[] = {8, 16, 64, 4096, (size_t)1 << 21, (size_t)1 << 40};
    for (size_t i = 0; i < sizeof alignments / sizeof alignments[0]; i++) {
        void *object = untouched;
        errno = 99;
        CHECK_EQUAL(posix_memalign(&object, alignments[i], under_test_opaque(SIZE_MAX - 100)), ENOMEM);
        CHECK_EQUAL(posix_memalign(&object, alignments[i], under_test_opaque((size_t)PTRDIFF_MAX + 1)), ENOMEM);
        CHECK(object == untouched);
        if (under_test_strict())
            CHECK_EQUAL(errno, 99);
    }
}

TEST(memalign_and_aligned_alloc_survive_an_alignment_that_is_no_power_of_two)
{
    const size_t bad[] = {0, 3, 24, 100, 4095};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        void *objects[2];
        errno = 0;
        objects[0] = memalign(under_test_opaque(bad[i]), 100);
        CHECK(objects[0] != NULL || errno == EINVAL);
        errno = 0;
        objects[1] = aligned_alloc(under_test_opaque(bad[i]), 100);
        CHECK(objects[1] != NULL || errno == EINVAL);
        for (size_t k = 0; k < 2; k++) {
            if (objects[k] != NULL)
                memset(objects[k], 1, 100);
            free(objects[k]);
        }
    }
    errno = 0;
    CHECK(memalign(under_test_opaque(SIZE_MAX / 2 + 2), 100) == NULL);
    CHECK(errno == EINVAL || errno == ENOMEM);
}

TEST(valloc_and_pvalloc_are_page_aligned_and_pvalloc_fills_pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t size = 1; size < 100000; size = size * 3 + 1) {
        unsigned char *object = valloc(size);
        CHECK(object != NULL && (uintptr_t)object % page == 0);
        memset(object, 1, size);
        free(object);
        if (!pvalloc_belongs())
            continue;
        size_t whole = (size + page - 1) / page * page;
        object = pvalloc(size);
        CHECK(object != NULL && (uintptr_t)object % page == 0 && malloc_usable_size(object) >= whole);
        memset(object, 1, whole);
        free(object);
    }
}

TEST(usable_size_covers_what_was_asked_and_may_be_written)
{
    CHECK_EQUAL(malloc_usable_size(NULL), 0);
    for (size_t size = 1; size < (size_t)3 << 20; size += size / 7 + 1) {
        unsigned char *first = malloc(size), *second = malloc(size);
        size_t usable = malloc_usable_size(first);
        CHECK(usable >= size);
        memset(second, 0x11, size);
        memset(first, 0xee, usable);
        CHECK(second[0] == 0x11 && second[size - 1] == 0x11);
        CHECK_EQUAL(malloc_usable_size(first), usable);
        free(first);
        free(second);
    }
}

TEST(cfree_frees_when_a_program_finds_it)
{
    void (*cfree_found)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "cfree");
    if (under_test_strict())
        CHECK(cfree_found != NULL);
    for (int i = 0; i < 1000 && cfree_found != NULL; i++)
        cfree_found(malloc(1000));
}

TEST(free_sized_and_free_aligned_sized_free)
{
    void (*free_sized_found)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "free_sized");
    void (*free_aligned_sized_found)(void *, size_t, size_t) =
        (void (*)(void *, size_t, size_t))dlsym(RTLD_DEFAULT, "free_aligned_sized");
    if (under_test_strict())
        CHECK(free_sized_found != NULL && free_aligned_sized_found != NULL);
    TEST_SKIP_IF(free_sized_found == NULL || free_aligned_sized_found == NULL, "another allocator, without free_sized");
    free_sized_found(NULL, 0);
    free_aligned_sized_found(NULL, 64, 0);
    for (size_t size = 0; size < (size_t)4 << 20; size = size * 3 / 2 + 1) {
        free_sized_found(malloc(size), size);
        free_sized_found(calloc(1, size), size);
        for (size_t alignment = 8; alignment <= 65536; alignment *= 4)
            free_aligned_sized_found(aligned_alloc(alignment, size), alignment, size);
    }
}

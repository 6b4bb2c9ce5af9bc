/* SPDX-License-Identifier: MIT */
/*
 * impossible_sizes: every way to ask for memory, with sizes that cannot be: around PTRDIFF_MAX and up to SIZE_MAX, at
 * every alignment.  Each is refused, and what was there is as before.
 */
#include "under_test.h"
#include "unit/test.h"

#include <hew/hew.h>
#include <hew/pool.h>
#include <malloc.h>

/* Of the library under test, by name: other programs do not link it. */
static void *(*allocx)(size_t, int);
static void *(*resizex)(void *, size_t, int);
static size_t (*resize_in_placex)(void *, size_t, size_t, int);
static size_t (*sizex)(size_t, int);
static void *(*new_nothrow)(size_t, const void *);
static void *(*new_aligned_nothrow)(size_t, size_t, const void *);
static void *(*of_hew)(size_t, const struct hew_request *);
static void *(*resize_of_hew)(void *, size_t, const struct hew_request *);
static size_t (*many_of_hew)(void **, size_t, size_t, const struct hew_request *);
static struct hew_pool_set *(*pool_create)(const struct hew_pool_size *, size_t, const struct hew_pool_options *);
static void *(*pool_malloc)(struct hew_pool_set *, size_t);
static void *(*pool_calloc)(struct hew_pool_set *, size_t, size_t);
static void *(*pool_realloc)(struct hew_pool_set *, void *, size_t);

static void
find(void *function, const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &found, sizeof found);
}

static void
find_functions(void)
{
    find(&allocx, "mallocx");
    find(&resizex, "rallocx");
    find(&resize_in_placex, "xallocx");
    find(&sizex, "nallocx");
    find(&new_nothrow, "_ZnwmRKSt9nothrow_t");
    find(&new_aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t");
    find(&of_hew, "hew_alloc");
    find(&resize_of_hew, "hew_resize");
    find(&many_of_hew, "hew_alloc_many");
    find(&pool_create, "hew_pool_create");
    find(&pool_malloc, "hew_pool_malloc");
    find(&pool_calloc, "hew_pool_calloc");
    find(&pool_realloc, "hew_pool_realloc");
}

/* With `visit` each size once: the last 8192 there are, and as many on both sides of the largest difference of pointers and
 * of the largest address. */
static void
each_impossible_size(void (*visit)(size_t size))
{
    for (size_t less = 0; less <= 8192; less++) {
        visit(under_test_opaque(SIZE_MAX - less));
        visit(under_test_opaque((size_t)PTRDIFF_MAX + less));
        visit(under_test_opaque((size_t)PTRDIFF_MAX - less));
        visit(under_test_opaque(((size_t)1 << 62) + less));
    }
}

static unsigned given; /* where NULL should have come */

static void
expect_none(void *object)
{
    if (object != NULL) {
        given++;
        free(object);
    }
}

static void
ask_c(size_t size)
{
    expect_none(malloc(size));
    expect_none(calloc(1, size));
    expect_none(calloc(size, 1));
    expect_none(realloc(NULL, size));
    expect_none(valloc(size));
    expect_none(pvalloc(size));
}

TEST(no_entry_point_of_c_gives_memory_for_an_impossible_size)
{
    given = 0;
    each_impossible_size(ask_c);
    CHECK_EQUAL(given, 0);
}

static void *held; /* what realloc is asked to make larger */

static void
enlarge(size_t size)
{
    given += realloc(held, size) != NULL;
    given += reallocarray(held, size, 1) != NULL;
}

TEST(an_object_stays_when_it_cannot_become_so_large)
{
    static const size_t sizes[] = {1, 100, 5000, 14336, 14337, 100000, 700000, 3000000};
    given = 0;
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        held = malloc(sizes[i]);
        memset(held, 'h', sizes[i]);
        each_impossible_size(enlarge);
        CHECK_EQUAL(((char *)held)[sizes[i] - 1], 'h');
        free(held);
    }
    CHECK_EQUAL(given, 0);
}

static size_t alignment;

static void
ask_aligned(size_t size)
{
    void *object = NULL;
    expect_none(aligned_alloc(alignment, size));
    expect_none(memalign(alignment, size));
    given += alignment >= sizeof object && posix_memalign(&object, alignment, size) == 0;
}

/* Some of them: calls for mappings of many pages cost time. */
static void
ask_possible_size(size_t size)
{
    expect_none(aligned_alloc(alignment, size));
    expect_none(memalign(alignment, size));
}

TEST(no_alignment_makes_an_impossible_size_possible)
{
    given = 0;
    for (alignment = 1; alignment != 0; alignment *= 2) {
        each_impossible_size(ask_aligned);
    }
    CHECK_EQUAL(given, 0);
}

TEST(an_alignment_beyond_the_address_space_is_refused_for_every_size)
{
    static const size_t sizes[] = {0, 1, 16, 4096, 14336, 14337, 100000, 1 << 20, 3 << 20};
    given = 0;
    for (alignment = (size_t)1 << 48; alignment != 0; alignment *= 2) {
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            ask_possible_size(sizes[i]);
        }
    }
    CHECK_EQUAL(given, 0);
}

static void
ask_operators(size_t size)
{
    static const char nothrow;
    expect_none(new_nothrow(size, &nothrow));
    expect_none(new_aligned_nothrow(size, 64, &nothrow));
}

TEST(operator_new_without_exceptions_returns_null)
{
    given = 0;
    find_functions();
    if (new_nothrow != NULL) {
        each_impossible_size(ask_operators);
    }
    CHECK_EQUAL(given, 0);
}

static int flags;

static void
ask_with_flags(size_t size)
{
    expect_none(allocx(size, flags));
    given += resizex(held, size, flags) != NULL;
    given += resize_in_placex(held, size, 0, flags) >= size || resize_in_placex(held, 1, size, flags) >= size;
    given += sizex(size, flags) != 0;
}

/* jemalloc's functions, and those of hew.h behind the same flags. */
TEST(no_flag_makes_an_impossible_size_possible)
{
    static const int some[] = {0, 4, 12, 21, 40, 63, 0x40, 0x100, 0x140, 1 << 20, 12 | 0x40 | 0x100};
    given = 0;
    UNDER_TEST_HEW_ALONE();
    held = malloc(100000);
    for (unsigned i = 0; i < sizeof some / sizeof some[0]; i++) {
        flags = some[i];
        each_impossible_size(ask_with_flags);
    }
    free(held);
    CHECK_EQUAL(given, 0);
}

static void
ask_hew(size_t size)
{
    const struct hew_request request = {.alignment = 64, .zero = true};
    void *two[2];
    expect_none(of_hew(size, NULL));
    expect_none(of_hew(size, &request));
    given += resize_of_hew(held, size, &request) != NULL;
    given += (unsigned)many_of_hew(two, 2, size, NULL);
}

TEST(hews_own_functions_refuse_them_too)
{
    given = 0;
    UNDER_TEST_HEW_ALONE();
    held = malloc(100);
    each_impossible_size(ask_hew);
    free(held);
    CHECK_EQUAL(given, 0);
}

static struct hew_pool_set *set;

static void
ask_pool(size_t size)
{
    const struct hew_pool_size declared = {size, 1};
    given += pool_create(&declared, 1, NULL) != NULL;
    given += pool_malloc(set, size) != NULL;
    given += pool_calloc(set, 1, size) != NULL;
    given += pool_realloc(set, held, size) != NULL;
}

TEST(pools_pass_them_to_malloc_which_refuses_them)
{
    const struct hew_pool_size declared = {64, 10};
    given = 0;
    UNDER_TEST_HEW_ALONE();
    set = pool_create(&declared, 1, NULL);
    held = pool_malloc(set, 64);
    CHECK(set != NULL && held != NULL);
    each_impossible_size(ask_pool);
    CHECK_EQUAL(given, 0);
}

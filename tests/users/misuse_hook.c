/* SPDX-License-Identifier: MIT */
/*
 * A program whose hook of safety checks returns, as those of jemalloc's own tests do: each mistake is reported to the hook, the
 * call that made it does nothing, and the process goes on.
 */
#include "jemalloc_calls.h"
#include "preload/under_test.h"
#include "unit/test.h"

static unsigned reports;
static char last[512];

static void
hear(const char *line)
{
    reports++;
    snprintf(last, sizeof last, "%s", line);
}

static void
listen(void)
{
    void (*hook)(const char *) = hear;
    reports = 0;
    last[0] = '\0';
    CHECK_EQUAL(ctl_write("experimental.hooks.safety_check_abort", &hook, sizeof hook), 0);
}

/* Whether it was reported once, in these words; and the allocator works. */
static bool
was_told(const char *words)
{
    bool right = reports == 1 && strstr(last, words) != NULL;
    if (!right) {
        printf("%u reports, the last: %s\n", reports, last);
    }
    listen();
    void *some[200];
    for (unsigned i = 0; i < 200; i++) {
        some[i] = malloc(100);
        memset(some[i], (int)i, 100);
    }
    for (unsigned i = 0; i < 200; i++) {
        right = right && *(unsigned char *)some[i] == i;
        free(some[i]);
    }
    return right && reports == 0;
}

TEST(realloc_to_nothing_that_is_forbidden_returns_null_and_keeps_the_object)
{
    UNDER_TEST_HEW_ALONE();
    listen();
    char *object = malloc(10);
    object[0] = 7;
    CHECK(realloc(object, under_test_opaque(0)) == NULL);
    CHECK(was_told("realloc to size 0 with zero_realloc:abort"));
    CHECK_EQUAL(object[0], 7);
    free(object);
}

TEST(a_free_with_the_wrong_size_keeps_the_object)
{
    UNDER_TEST_HEW_ALONE();
    listen();
    char *object = malloc(100), *large = malloc(100000);
    sdallocx(object, under_test_opaque(200), 0);
    CHECK(was_told("freed with the wrong size"));
    sdallocx(large, under_test_opaque(300000), 0);
    CHECK(was_told("freed with the wrong size"));
    memset(object, 1, 100);
    free(object);
    free(large);
    CHECK_EQUAL(reports, 0);
}

TEST(a_bad_free_does_nothing)
{
    UNDER_TEST_HEW_ALONE();
    char *object = malloc(100), *large = malloc(5000000), here[64];
    listen();
    free(object);
    free((void *)under_test_opaque((size_t)object));
    CHECK(was_told("double free"));
    free((void *)under_test_opaque((size_t)here));
    CHECK(was_told("not memory that hew gave out"));
    free((void *)under_test_opaque((size_t)large + 64));
    CHECK(was_told("points inside an allocation"));
    free(large);
    CHECK_EQUAL(reports, 0);
}

TEST(what_shows_itself_when_a_cache_is_flushed_is_left_out)
{
    UNDER_TEST_HEW_ALONE();
    char *object = malloc(300), *between = malloc(300), *inside = malloc(300);
    listen();
    free(object);
    free(between);
    free((void *)under_test_opaque((size_t)object));
    CHECK_EQUAL(ctl_do("thread.tcache.flush"), 0);
    CHECK(was_told("double free"));
    free((void *)under_test_opaque((size_t)inside + 16));
    CHECK_EQUAL(ctl_do("thread.tcache.flush"), 0);
    CHECK(was_told("points inside an allocation"));
    free(inside);
}

TEST(a_new_that_may_not_fail_returns_null)
{
    UNDER_TEST_HEW_ALONE();
    void *(*create)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "_Znwm");
    listen();
    CHECK(create(under_test_opaque((size_t)1 << 60)) == NULL);
    CHECK(was_told("Allocation of size 1152921504606846976 failed."));
}

/* SPDX-License-Identifier: MIT */
/*
 * test: the smallest unit-test frame that can fail.
 *
 * TEST(name_that_reads_as_a_sentence) { ... CHECK(...); }  Each test file is one program; every TEST in it runs in
 * source order in one process.  A failed CHECK prints file, line and text, and the program exits 1 at the end.
 * A test that cannot run here says so by TEST_SKIP_IF: without failures the program then exits TEST_SKIPPED, which ctest counts.
 * Nothing here calls malloc, so a test may link an allocator under test without feeding it.
 */
#ifndef HEW_TESTS_UNIT_TEST_H
#define HEW_TESTS_UNIT_TEST_H

#include <stdio.h>
#include <string.h>

struct test_case {
    const char *name;
    void (*run)(void);
    struct test_case *next;
};

static struct test_case *test_first;
static struct test_case **test_last = &test_first;
static int test_failures;
static const char *test_skip_reason;

enum { TEST_SKIPPED = 77 }; /* as SKIP_RETURN_CODE in tests/CMakeLists.txt */

#define TEST(name)                                                                                                     \
    static void test_##name(void);                                                                                     \
    static struct test_case test_case_##name = {#name, test_##name, NULL};                                             \
    __attribute__((constructor)) static void test_add_##name(void)                                                     \
    {                                                                                                                  \
        *test_last = &test_case_##name;                                                                                \
        test_last = &test_case_##name.next;                                                                            \
    }                                                                                                                  \
    static void test_##name(void)

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            test_failures++;                                                                                           \
            printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                           \
        }                                                                                                              \
    } while (0)

#define CHECK_EQUAL(left, right)                                                                                       \
    do {                                                                                                               \
        unsigned long long test_left = (unsigned long long)(left), test_right = (unsigned long long)(right);           \
        if (test_left != test_right) {                                                                                 \
            test_failures++;                                                                                           \
            printf("%s:%d: %s is %llu, %s is %llu\n", __FILE__, __LINE__, #left, test_left, #right, test_right);       \
        }                                                                                                              \
    } while (0)

#define CHECK_TEXT(left, right)                                                                                        \
    do {                                                                                                               \
        const char *test_left = (left), *test_right = (right);                                                         \
        if (strcmp(test_left, test_right) != 0) {                                                                      \
            test_failures++;                                                                                           \
            printf("%s:%d: \"%s\" is not \"%s\"\n", __FILE__, __LINE__, test_left, test_right);                        \
        }                                                                                                              \
    } while (0)

/* Only in the body of a TEST: ends it, unless the condition is false. */
#define TEST_SKIP_IF(condition, reason)                                                                                \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            test_skip_reason = (reason);                                                                               \
            return;                                                                                                    \
        }                                                                                                              \
    } while (0)

int
main(void)
{
    int count = 0, skipped = 0;
    for (struct test_case *test = test_first; test != NULL; test = test->next) {
        int before = test_failures;
        test_skip_reason = NULL;
        test->run();
        printf("%s %d - %s", test_failures == before ? "ok" : "not ok", ++count, test->name);
        printf("%s%s\n", test_skip_reason != NULL ? " # SKIP " : "", test_skip_reason != NULL ? test_skip_reason : "");
        skipped += test_skip_reason != NULL;
    }
    printf("%d tests, %d skipped, %d failed checks\n", count, skipped, test_failures);
    if (test_failures != 0 || count == 0) {
        return 1;
    }
    return skipped != 0 ? TEST_SKIPPED : 0;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * ifunc_resolver: allocation while the loader still relocates the program.
 *
 * The loader calls a program's ifunc resolvers after it has relocated the libraries and before it has set up libc or
 * run any constructor: environ is still NULL and no thread has a cache.  glibc's malloc serves such calls (in a dynamic
 * program; in a static one resolvers run before thread data exists, and no allocator can).
 */
#include "under_test.h"
#include "unit/test.h"

static unsigned char *objects[32];
static size_t resolver_errors;

static int
answer(void)
{
    return 42;
}

__attribute__((used)) static int (*resolve_answer(void))(void)
{
    for (size_t i = 0; i < 32; i++) {
        objects[i] = i % 2 == 0 ? malloc(i * i * 100 + 1) : calloc(i, 3000);
        resolver_errors += objects[i] == NULL;
        if (objects[i] != NULL)
            objects[i][0] = (unsigned char)i;
        if (i % 4 == 3) {
            free(objects[i]);
            objects[i] = realloc(NULL, 10);
            objects[i][0] = (unsigned char)i;
        }
    }
    return answer;
}

int resolved_answer(void) __attribute__((ifunc("resolve_answer")));

TEST(an_ifunc_resolver_may_allocate)
{
    CHECK_EQUAL(resolved_answer(), 42);
    CHECK_EQUAL(resolver_errors, 0);
    for (size_t i = 0; i < 32; i++) {
        CHECK_EQUAL(objects[i][0], i);
        free(objects[i]);
    }
}

TEST(the_allocator_works_as_ever_after_such_a_start)
{
    for (size_t size = 1; size < (size_t)16 << 20; size *= 2) {
        unsigned char *object = malloc(size);
        CHECK(object != NULL);
        memset(object, 1, size);
        free(object);
    }
}

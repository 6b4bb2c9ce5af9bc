/* SPDX-License-Identifier: MIT */
/* Unit tests of base/bytes, with libc's functions taken over as a preloaded library may do it. */
#include "base/bytes.h"

#include "test.h"

#define SIZE (4 * HEW_BYTES_MANY)

static unsigned calls;
static char inner[SIZE];

void taken_zero(void *at, size_t size) __asm__("bzero");
void *taken_copy(void *to, const void *from, size_t size) __asm__("mempcpy");

void
taken_zero(void *at, size_t size)
{
    calls++;
    inner[SIZE - 1] = 1;
    hew_bytes_zero(inner, SIZE);
    CHECK(inner[SIZE - 1] == 0);
    memset(at, 0, size);
}

void *
taken_copy(void *to, const void *from, size_t size)
{
    calls++;
    hew_bytes_copy(inner, from, size);
    CHECK(memcmp(inner, from, size) == 0);
    return (char *)memcpy(to, from, size) + size;
}

TEST(many_bytes_go_through_libc_and_a_call_out_of_that_ends)
{
    static char one[SIZE], other[SIZE];
    memset(one, 7, SIZE);
    hew_bytes_copy(other, one, SIZE);
    CHECK(calls == 1 && memcmp(one, other, SIZE) == 0);
    CHECK(hew_bytes_zero(one, SIZE) == one && calls == 2);
    for (size_t i = 0; i < SIZE; i++) {
        CHECK(one[i] == 0);
    }
}

TEST(few_bytes_never_leave_the_library)
{
    static char one[HEW_BYTES_MANY], other[HEW_BYTES_MANY];
    calls = 0;
    memset(one, 7, sizeof one);
    hew_bytes_copy(other, one, HEW_BYTES_MANY - 1);
    CHECK(other[HEW_BYTES_MANY - 2] == 7 && other[HEW_BYTES_MANY - 1] == 0);
    hew_bytes_zero(one, HEW_BYTES_MANY - 1);
    CHECK(one[HEW_BYTES_MANY - 2] == 0 && one[HEW_BYTES_MANY - 1] == 7 && calls == 0);
}

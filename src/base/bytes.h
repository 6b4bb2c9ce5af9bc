/* SPDX-License-Identifier: MIT */
/*
 * bytes: zeroes and copies a program's objects.
 *
 * Called    With no lock held and every structure consistent.  Large sizes go through libc's functions, which are tuned
 *           for the CPU.  A preloaded library may have replaced them and may allocate there.  All other code uses hew's
 *           own memset() and memcpy() (os/private/bytes.c).
 * Promises  A nested call uses hew's own functions, so the recursion ends.
 */
#ifndef HEW_BASE_BYTES_H
#define HEW_BASE_BYTES_H

#include "base/compiler.h"

#include <string.h>

#define HEW_BYTES_MANY 1024

void *hew_bytes_zero_many(void *at, size_t size);
void hew_bytes_copy_many(void *to, const void *from, size_t size);

HEW_INLINE void *
hew_bytes_zero(void *at, size_t size)
{
    return size < HEW_BYTES_MANY ? memset(at, 0, size) : hew_bytes_zero_many(at, size);
}

/* The two ranges must not overlap. */
HEW_INLINE void
hew_bytes_copy(void *to, const void *from, size_t size)
{
    if (size < HEW_BYTES_MANY) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): what is copied is an object */
        memcpy(to, from, size);
    } else {
        hew_bytes_copy_many(to, from, size);
    }
}

#endif

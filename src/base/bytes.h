/* SPDX-License-Identifier: MIT */
/*
 * bytes: zeroing and copying a program's objects.
 *
 * Called    with no lock held and every structure whole: many bytes go through libc's functions, which know the processor best, and a
 *           preloaded library may have taken their place and allocate there.  Elsewhere memset() and memcpy() are the library's
 *           own (os/private/bytes.c).
 * Promises  a call out of a call goes to the library's own functions, so that it ends.
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

/* The two places do not overlap. */
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

/* SPDX-License-Identifier: MIT */
/* bytes: calls libc's functions by names that os/private/bytes.c does not define and that compilers do not replace; see
 * bytes.h. */
#include "base/bytes.h"

void libc_zero(void *at, size_t size) __asm__("bzero");
void *libc_copy(void *to, const void *from, size_t size) __asm__("mempcpy");

static __thread bool away; /* true inside a call of either function */

void *
hew_bytes_zero_many(void *at, size_t size)
{
    if (away) {
        return memset(at, 0, size);
    }
    away = true;
    libc_zero(at, size);
    away = false;
    return at;
}

void
hew_bytes_copy_many(void *to, const void *from, size_t size)
{
    if (away) {
        memcpy(to, from, size);
        return;
    }
    away = true;
    libc_copy(to, from, size);
    away = false;
}

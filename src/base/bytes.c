/* SPDX-License-Identifier: MIT */
/* bytes: by names of libc's that os/private/bytes.c does not define, nor a compiler makes others of; see bytes.h. */
#include "base/bytes.h"

void libc_zero(void *at, size_t size) __asm__("bzero");
void *libc_copy(void *to, const void *from, size_t size) __asm__("mempcpy");

static __thread bool away; /* in one of the two */

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

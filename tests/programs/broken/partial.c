/* SPDX-License-Identifier: MIT */
/*
 * partial: a preload that takes over malloc and free and forgets calloc and realloc.
 *
 * Why       memory would pass between two allocators; the harness must refuse to call that a success.
 */
#include <stddef.h>

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *object);

void *
malloc(size_t size)
{
    return __libc_malloc(size);
}

void
free(void *object)
{
    __libc_free(object);
}

/* SPDX-License-Identifier: MIT */
/* tested: the names under which the library's functions are to be had here (rename.cmake). */
#ifndef HEW_SIMULATE_TESTED_H
#define HEW_SIMULATE_TESTED_H

#include <stddef.h>

extern const char *tested_malloc_conf;
void *tested_malloc(size_t size);
void *tested_calloc(size_t count, size_t size);
void *tested_realloc(void *object, size_t size);
void *tested_aligned_alloc(size_t alignment, size_t size);
int tested_posix_memalign(void **object, size_t alignment, size_t size);
void tested_free(void *object);
void tested_free_sized(void *object, size_t size);
size_t tested_malloc_usable_size(void *object);
int tested_malloc_trim(size_t pad);
void *tested_mallocx(size_t size, int flags);
void *tested_rallocx(void *object, size_t size, int flags);
size_t tested_xallocx(void *object, size_t size, size_t extra, int flags);
size_t tested_nallocx(size_t size, int flags);
void tested_dallocx(void *object, int flags);
void tested_sdallocx(void *object, size_t size, int flags);
int tested_mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length);

#define TESTED_ALIGN(lg) ((int)(lg))
#define TESTED_ZERO 0x40
#define TESTED_CACHE(number) (((int)(number) + 2) << 8)
#define TESTED_NO_CACHE (1 << 8)
#define TESTED_ARENA(number) (((int)(number) + 1) << 20)

#endif

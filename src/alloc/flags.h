/* SPDX-License-Identifier: MIT */
/*
 * flags: requests with more than a size, as mallocx and related functions make them.
 *
 *     31        20 19         8  7   6  5      0
 *     | arena + 1 | cache + 2 | - | zero | lg of the alignment |     0 everywhere: as malloc
 *
 * A cache field of 1 means "none".  If the flags name an arena but no cache, the thread's own cache serves only if that
 * arena is the thread's; otherwise no cache serves.  An explicit cache (cache/explicit.h) is refilled from the given
 * arena, or from the thread's.
 *
 * Promises  NULL if out of memory, and for an invalid arena, cache or alignment.  A size of 0 is treated as 1.
 *           Thread-safe, except that an explicit cache needs the program's own locking.  errno is never touched.
 * Not here  The fast paths for flags that are all 0: api/malloc.h.
 */
#ifndef HEW_ALLOC_FLAGS_H
#define HEW_ALLOC_FLAGS_H

#include "base/compiler.h"

#define HEW_FLAGS_LG_ALIGN 0x3f
#define HEW_FLAGS_ZERO 0x40
#define HEW_FLAGS_CACHE 0xfff00

void *hew_flags_alloc(size_t size, int flags);

/* `object` is live, not NULL.  Zeroes what it gains beyond its former usable size, if the flags ask for it.  NULL:
 * failed, and the object is unchanged. */
void *hew_flags_realloc(void *object, size_t size, int flags);

/* Resizes in place only: to `size` bytes, and up to `extra` more if possible; frees what is not needed.  Returns the
 * usable size afterwards, which is less than `size` if the object cannot grow. */
size_t hew_flags_resize(void *object, size_t size, size_t extra, int flags);

/* Uses only the cache field.  `function` is the function that the program called. */
void hew_flags_free(const char *function, void *object, int flags);

/* As hew_alloc_is_sized(), with the alignment of the flags. */
bool hew_flags_are_of_size(const char *function, void *object, size_t size, int flags);

/* Returns the usable size that hew_flags_alloc() would give; 0: the request is impossible. */
size_t hew_flags_usable(size_t size, int flags);

/* Many objects of one size in one call.  The layout is part of mallctl's interface. */
struct hew_batch {
    void **objects; /* written: holds `count` */
    size_t count;
    size_t size;
    int flags;
};

_Static_assert(sizeof(struct hew_batch) == 32, "programs know this struct by its size");

/* Each object is a request of its own, so that statistics, samples and out-of-memory handling are the same.  Returns the
 * number of objects allocated, which is smaller than `count` only if memory runs out. */
size_t hew_batch_alloc(const struct hew_batch *batch);

#endif

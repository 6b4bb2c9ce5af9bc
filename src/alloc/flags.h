/* SPDX-License-Identifier: MIT */
/*
 * flags: requests that say more than a size: what mallocx and its kin mean.
 *
 *     31        20 19         8  7   6  5      0
 *     | arena + 1 | cache + 2 | - | zero | lg of the alignment |     0 everywhere: as malloc
 *
 * A cache field of 1 is "none".  An arena without a cache: the thread's own cache serves when that is its arena, and no
 * cache does otherwise.  An explicit cache (cache/explicit.h) is filled from the arena that is given, or the thread's.
 *
 * Promises  NULL without memory, and for an arena, cache or alignment that cannot be; size 0 counts as 1.  Thread-safe
 *           but for what an explicit cache needs.  errno is never touched.
 * Not here  the fast paths for flags that are all 0: api/malloc.h.
 */
#ifndef HEW_ALLOC_FLAGS_H
#define HEW_ALLOC_FLAGS_H

#include "base/compiler.h"

#define HEW_FLAGS_LG_ALIGN 0x3f
#define HEW_FLAGS_ZERO 0x40
#define HEW_FLAGS_CACHE 0xfff00

void *hew_flags_alloc(size_t size, int flags);

/* `object` is live, not NULL.  What it gains beyond its former usable size is zeroed if asked.  NULL: it is untouched. */
void *hew_flags_realloc(void *object, size_t size, int flags);

/* In place only: room for `size` bytes, and for up to `extra` more if there is; what is not needed goes back.  Returns what
 * may be used now, less than `size` when it cannot grow. */
size_t hew_flags_resize(void *object, size_t size, size_t extra, int flags);

/* Only the cache field counts.  `function` is what the program called. */
void hew_flags_free(const char *function, void *object, int flags);

/* hew_alloc_is_sized() at the flags' alignment. */
bool hew_flags_are_of_size(const char *function, void *object, size_t size, int flags);

/* The usable size that hew_flags_alloc() would give; 0: it is out of all bounds. */
size_t hew_flags_usable(size_t size, int flags);

#endif

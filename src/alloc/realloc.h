/* SPDX-License-Identifier: MIT */
/*
 * realloc: one object, another size, the same contents.
 */
#ifndef HEW_ALLOC_REALLOC_H
#define HEW_ALLOC_REALLOC_H

#include "slab/arena.h"

/*
 * Resizing without a copy.  A small object stays when its class does; a large one is cut, grows by free pages behind it,
 * or hands its pages to a new extent in `arena` (NULL: that of the object).  `usable` is what it has room for.  NULL: that
 * is not to be had, and nothing has changed.
 */
void *hew_realloc_without_copy(void *object, size_t usable, size_t size, size_t alignment, struct hew_arena *arena);

/* The same where it is, and only for large objects: room for at least `least` bytes and at most `most`, both more than
 * HEW_SMALL_MAX.  Returns what it has room for then. */
size_t hew_realloc_in_place(void *object, size_t least, size_t most);

/*
 * `object` is live, not NULL; `size` is not 0.  In place when the class stays, when a large one shrinks, or when free
 * pages lie behind it; by moving pages for the largest; by copying otherwise.  NULL without memory: the object
 * stays.  A size that is no larger than what it has room for never fails.
 */
void *hew_realloc_object(void *object, size_t size);

#endif

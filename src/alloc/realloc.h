/* SPDX-License-Identifier: MIT */
/*
 * realloc: changes an object's size and keeps its contents.
 */
#ifndef HEW_ALLOC_REALLOC_H
#define HEW_ALLOC_REALLOC_H

#include "slab/arena.h"

/*
 * Resizes without a copy.  A small object stays if its class does.  A large object shrinks, grows into free pages
 * behind it, or moves its pages to a new extent in `arena` (NULL: the object's arena).  `usable` is the object's usable
 * size.  NULL: not possible, and nothing has changed.
 */
void *hew_realloc_without_copy(void *object, size_t usable, size_t size, size_t alignment, struct hew_arena *arena);

/* Resizes in place, and only large objects: to at least `least` and at most `most` bytes, both more than HEW_SMALL_MAX.
 * Returns the usable size afterwards. */
size_t hew_realloc_in_place(void *object, size_t least, size_t most);

/*
 * `object` is live, not NULL; `size` is not 0.  Resizes in place if the class stays, if a large object shrinks, or if
 * free pages lie behind it.  The largest objects move their pages; all others are copied.  NULL: out of memory, and the
 * object is unchanged.  A size that is no larger than the usable size never fails.
 */
void *hew_realloc_object(void *object, size_t size);

#endif

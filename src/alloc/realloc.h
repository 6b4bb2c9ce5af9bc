/* SPDX-License-Identifier: MIT */
/*
 * realloc: one object, another size, the same contents.
 */
#ifndef HEW_ALLOC_REALLOC_H
#define HEW_ALLOC_REALLOC_H

#include "base/compiler.h"

#include <stdatomic.h>

/* Calls of realloc(pointer, 0), whatever they came to: relaxed, counted by api/. */
extern HEW_HIDDEN _Atomic uint64_t hew_realloc_zeroes;

/*
 * `object` is live, not NULL; `size` is not 0.  In place when the class stays, when a large one shrinks, or when free
 * pages lie behind it; by moving pages for the largest; by copying otherwise.  NULL without memory: the object
 * stays.  A size that is no larger than what it has room for never fails.
 */
void *hew_realloc_object(void *object, size_t size);

#endif
